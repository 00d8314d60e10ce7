/* packed_file.c: writes model.weights, which packed.c of the core checks and
 * a model maps: a header page, the packed weights, the vocabularies, each at
 * a multiple of 64 bytes, and in the header the hashes of them and of it.   */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/rt.h"

enum { Sections = 3 }; /* weights, vocabularies */
typedef struct {
    const void *at;
    int64_t bytes;
} Section;

static const char zeros[64]; /* between a section and the next */

static int64_t aligned(int64_t n)
{
    return (n + 63) / 64 * 64;
}

/* Places and lengths; without hashes. */
static struct attn_packed_header head_of(const PackedModel *m, const Section *s)
{
    const PackList *p = m->list;
    struct attn_packed_header head = {
        .magic = { 'A', 'T', 'T', 'N', 'C', 'W', '0', '3' },
        .hash = p->hash,
        .weights_at = ATTN_PACKED_PAGE,
        .weights_bytes = p->bytes,
        .source_vocab_bytes = s[1].bytes,
        .target_vocab_bytes = s[2].bytes,
        .random = m->random,
    };
    int64_t end = ATTN_PACKED_PAGE + aligned(p->bytes);
    head.source_vocab_at = s[1].bytes ? end : 0;
    end += aligned(s[1].bytes);
    head.target_vocab_at = s[2].bytes ? end : 0;
    head.bytes = end + aligned(s[2].bytes);
    snprintf(head.dtype, sizeof head.dtype, "%s", p->dtype ? p->dtype : "");
    snprintf(head.name, sizeof head.name, "%s", p->name ? p->name : "");
    return head;
}

/* The first page, which has the hash of its own rest. */
static void make_page(char *page, const struct attn_packed_header *head)
{
    memset(page, 0, ATTN_PACKED_PAGE);
    memcpy(page, head, sizeof *head);
    const uint64_t hash = attn_packed_page(page);
    memcpy(page + offsetof(struct attn_packed_header, page), &hash,
           sizeof hash);
}

/* Of what follows the page; false: out of memory. */
static bool hash_sections(const Section *s, uint64_t *hash)
{
    XXH64_state_t *state = XXH64_createState();
    if (!state)
        return false;
    XXH64_reset(state, 0);
    for (int i = 0; i < Sections; i++) {
        XXH64_update(state, s[i].at, (size_t)s[i].bytes);
        XXH64_update(state, zeros, (size_t)(aligned(s[i].bytes) - s[i].bytes));
    }
    *hash = XXH64_digest(state);
    XXH64_freeState(state);
    return true;
}

bool weights_save(const char *path, const PackedModel *m, Fault *why)
{
    const Section s[Sections] = { { m->packed, m->list->bytes },
                                  { m->source_vocab, m->source_bytes },
                                  { m->target_vocab, m->target_bytes } };
    struct attn_packed_header head = head_of(m, s);
    char page[ATTN_PACKED_PAGE];
    Output o;
    if (!hash_sections(s, &head.contents))
        return fault(why, ExitResource, "%s: out of memory", path);
    make_page(page, &head);
    bool ok = output_open(&o, path, why)
           && output_write(&o, page, sizeof page, why);
    for (int i = 0; ok && i < Sections; i++) {
        const int64_t gap = aligned(s[i].bytes) - s[i].bytes;
        ok = output_write(&o, s[i].at, (size_t)s[i].bytes, why)
          && output_write(&o, zeros, (size_t)gap, why);
    }
    return ok && output_commit(&o, why);
}

int64_t weights_image(void *to, const PackedModel *m)
{
    const Section s[Sections] = { { m->packed, m->list->bytes },
                                  { m->source_vocab, m->source_bytes },
                                  { m->target_vocab, m->target_bytes } };
    const struct attn_packed_header head = head_of(m, s);
    char *at = to;
    if (!to)
        return head.bytes;
    memset(at, 0, (size_t)head.bytes);
    make_page(at, &head);
    at += ATTN_PACKED_PAGE;
    for (int i = 0; i < Sections; i++) {
        if (s[i].bytes)
            memcpy(at, s[i].at, (size_t)s[i].bytes);
        at += aligned(s[i].bytes);
    }
    return head.bytes;
}
