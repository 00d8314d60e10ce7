/* packed_file.c: writes model.weights, which packed.c of the core checks and
 * a model maps: a header page, the packed weights, the vocabularies, each at
 * a multiple of 64 bytes.                                                   */
#include <string.h>

#include "rt.h"

static int64_t aligned(int64_t n)
{
    return (n + 63) / 64 * 64;
}

/* A section and the zeros up to the next one. */
static bool write_section(Output *o, const void *data, int64_t bytes,
                          Fault *why)
{
    static const char zeros[64];
    return output_write(o, data, (size_t)bytes, why) &&
           output_write(o, zeros, (size_t)(aligned(bytes) - bytes), why);
}

static struct attn_packed_header head_of(const PackList *p,
                                         int64_t source_bytes,
                                         int64_t target_bytes)
{
    struct attn_packed_header head = {
        .magic = { 'A', 'T', 'T', 'N', 'C', 'W', '0', '1' },
        .hash = p->hash, .weight_bits = p->weight_bits,
        .weights_at = ATTN_PACKED_PAGE, .weights_bytes = p->bytes,
        .source_vocab_bytes = source_bytes, .target_vocab_bytes = target_bytes,
    };
    int64_t end = ATTN_PACKED_PAGE + aligned(p->bytes);
    head.source_vocab_at = source_bytes ? end : 0;
    end += aligned(source_bytes);
    head.target_vocab_at = target_bytes ? end : 0;
    head.bytes = end + aligned(target_bytes);
    return head;
}

bool weights_save(const char *path, const PackList *p, const void *packed,
                  const void *source_vocab, int64_t source_bytes,
                  const void *target_vocab, int64_t target_bytes, Fault *why)
{
    struct attn_packed_header head = head_of(p, source_bytes, target_bytes);
    char page[ATTN_PACKED_PAGE] = { 0 };
    memcpy(page, &head, sizeof head);
    Output o;
    return output_open(&o, path, why) &&
           output_write(&o, page, sizeof page, why) &&
           write_section(&o, packed, p->bytes, why) &&
           write_section(&o, source_vocab, source_bytes, why) &&
           write_section(&o, target_vocab, target_bytes, why) &&
           output_commit(&o, why);
}

int64_t weights_image(void *to, const PackList *p, const void *packed,
                      const void *source_vocab, int64_t source_bytes,
                      const void *target_vocab, int64_t target_bytes)
{
    struct attn_packed_header head = head_of(p, source_bytes, target_bytes);
    char *at = to;
    if (!to)
        return head.bytes;
    memset(at, 0, (size_t)head.bytes);
    memcpy(at, &head, sizeof head);
    memcpy(at + head.weights_at, packed, (size_t)p->bytes);
    if (source_bytes)
        memcpy(at + head.source_vocab_at, source_vocab, (size_t)source_bytes);
    if (target_bytes)
        memcpy(at + head.target_vocab_at, target_vocab, (size_t)target_bytes);
    return head.bytes;
}
