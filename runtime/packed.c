/* packed.c: is this block of bytes a weights file, whole, and of this model?
 * A file that passes is safe to read wherever its header points.            */
#include "core.h"

#include <string.h>

/* A part lies after the header page, at a multiple of 64, inside the file. */
static int packed_part_fits(int64_t at, int64_t part, int64_t bytes)
{
    if (at < ATTN_PACKED_PAGE || at % ATTN_ALIGN != 0)
        return 0;
    if (part < 0 || at > bytes || part > bytes - at)
        return 0;
    return 1;
}

static const char *packed_check_block(const void *file, int64_t bytes,
                                      int64_t at, int64_t part, int64_t size)
{
    if (at == 0 && part == 0)
        return NULL;
    if (!packed_part_fits(at, part, bytes))
        return "damaged: a vocabulary lies outside the file";
    const char *block = (const char *)file + at;
    const char *wrong = attn_vocab_check(block, part);
    if (wrong)
        return wrong;
    if (((const struct attn_vocab_header *)block)->size != size)
        return "damaged: a vocabulary has not the model's number of tokens";
    return NULL;
}

ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes)
{
    const struct attn_packed_header *h = file;
    if (bytes < (int64_t)sizeof h->magic)
        return "not a weights file of attnc: too short";
    if (memcmp(h->magic, "ATTNCW01", sizeof h->magic) != 0)
        return "not a weights file of attnc: its first bytes are not ATTNCW01";
    if (bytes < ATTN_PACKED_PAGE || bytes < h->bytes)
        return "cut short: fewer bytes than its header states; copy it again";
    if (h->weight_bits != m->weight_bits)
        return "made with another dtype of weights: run attnc compile again";
    if (h->hash != m->weights_hash)
        return "made for another model or layout: run attnc compile again";
    if (bytes > h->bytes)
        return "damaged: more bytes than its header states; copy it again";
    if (h->weights_bytes != m->weights_bytes)
        return "made for another model: run attnc compile again";
    if (!packed_part_fits(h->weights_at, h->weights_bytes, bytes))
        return "damaged: the weights lie outside the file";
    const char *wrong = packed_check_block(file, bytes, h->source_vocab_at,
                                           h->source_vocab_bytes,
                                           m->source_vocab);
    if (wrong)
        return wrong;
    return packed_check_block(file, bytes, h->target_vocab_at,
                              h->target_vocab_bytes, m->target_vocab);
}

/* ---------------------------------------------------------------- open --- */

ATTN_API const char *attn_open(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes)
{
    const void *packed = NULL;
    if (!bound || (uintptr_t)bound % 8 != 0)
        return "bound: memory at a multiple of 8 bytes is expected";
    if (file || m->weights_bytes > 0) {
        if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
            return "file: memory at a multiple of 64 bytes is expected";
        const char *wrong = attn_packed_check(m, file, bytes);
        if (wrong)
            return wrong;
        packed = attn_packed_weights(file);
    }
    m->bind(bound, packed);
    return NULL;
}

/* A part of a file that was opened; NULL: it has none, or is no such file. */
static const void *packed_part(const void *file, int64_t at, int64_t bytes)
{
    const struct attn_packed_header *h = file;
    if (bytes < 1 || !packed_part_fits(at, bytes, h->bytes))
        return NULL;
    return (const char *)file + at;
}

static int packed_head(const void *file)
{
    if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
        return 0;
    return memcmp(file, "ATTNCW", 6) == 0;
}

ATTN_API const void *attn_packed_weights(const void *file)
{
    const struct attn_packed_header *h = file;
    if (!packed_head(file))
        return NULL;
    return packed_part(file, h->weights_at, h->weights_bytes);
}

ATTN_API const void *attn_vocab(const struct attn_model *m, const void *file,
                                int64_t target)
{
    const struct attn_packed_header *h = file;
    const void *block = NULL;
    if (!packed_head(file))
        return NULL;
    if (target || m->kind == ATTN_DECODER)       /* whose source is the same */
        block = packed_part(file, h->target_vocab_at, h->target_vocab_bytes);
    else
        block = packed_part(file, h->source_vocab_at, h->source_vocab_bytes);
    if (attn_check_block(block) != 0)
        return NULL;
    return block;
}
