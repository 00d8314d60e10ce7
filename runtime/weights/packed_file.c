/* packed_file.c: writes model.weights, which a model maps after packed.c has
 * checked it: a header page with hashes, the packed weights, and the
 * vocabularies, each aligned to 64 bytes. */
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/rt.h"

enum { Sections = 3 }; /* the weights and two vocabularies */
typedef struct {
    const void *at;
    int64_t bytes;
} Section;

static const char zeros[64]; /* padding between sections */

static int64_t aligned(int64_t n)
{
    return (n + 63) / 64 * 64;
}

/* Returns a header with positions and lengths, but without hashes. */
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

/* Makes the first page, with the hash of its other bytes. */
static void make_page(char *page, const struct attn_packed_header *head)
{
    memset(page, 0, ATTN_PACKED_PAGE);
    memcpy(page, head, sizeof *head);
    const uint64_t hash = attn_packed_page(page);
    memcpy(page + offsetof(struct attn_packed_header, page), &hash,
           sizeof hash);
}

/* Hashes everything after the header page. Returns false if memory runs out. */
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
