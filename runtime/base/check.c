/* check.c: checks a caller's arguments before they are used. Each check returns
 * 0 or an error.                                                            */
#include "runtime/core.h"

static const char *const check_texts[] = {
    "no error",
    "too little memory, or room for a result",
    "a character or word that the vocabulary does not have",
    "a text that is not UTF-8",
    "a pointer is NULL that may not be",
    "a count or a size is below 0, or too large",
    "a length that the model does not take",
    "a table that does not go up from 0, or leads outside of what there is",
    "an id or a type that the model does not have",
    "an option is out of its range",
    "this kind of model does not do that",
    "no stream, text or vocabulary that was opened, or no slot of its room",
    "a state that is damaged, or of another model",
    "memory that is not at the multiple of bytes that it has to be at",
    "the model's results are not finite: check the weights",
    "the vocabulary has no template for pairs of texts",
    "a number of rows or sequences other than the one that the code is for",
    "a number of ranks other than the one that the code is for",
    "no token can follow by the grammar, or it needs too many states",
};
enum { CHECK_TEXTS = sizeof check_texts / sizeof *check_texts };

ATTN_API const char *attn_error_text(int64_t error)
{
    if (error >= 0 || error <= -CHECK_TEXTS)
        return check_texts[0];
    return check_texts[-error];
}

/* ---- one argument ---- */

ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most)
{
    if (n < least || n > most)
        return ATTN_ERROR_COUNT;
    return 0;
}

ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab)
{
    if (n < 0 || n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (n > 0 && !ids)
        return ATTN_ERROR_NULL;
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return ATTN_ERROR_ID;
    return 0;
}

ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest)
{
    if (n < 0 || n > ATTN_MOST || rows < 0 || rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (!start)
        return ATTN_ERROR_NULL;
    if (start[0] != 0)
        return ATTN_ERROR_TABLE;
    for (int64_t i = 0; i < n; i++) {
        if (start[i + 1] < start[i])
            return ATTN_ERROR_TABLE;
        if (start[i + 1] - start[i] > longest)
            return ATTN_ERROR_LENGTH;
    }
    if (start[n] != rows)
        return ATTN_ERROR_TABLE;
    return 0;
}

/* Checks the number of ranks; the model divides itself among no other. */
static int check_comm(const struct attn_model *m, const struct attn_comm *comm)
{
    if (!comm)
        return 0;
#if ATTN_HAS_RANKS
    if (comm->ranks == m->fixed_ranks && comm->rank >= 0
        && comm->rank < comm->ranks)
        return comm->gather && comm->reduce ? 0 : ATTN_ERROR_NULL;
#endif
    (void)m;
    return ATTN_ERROR_RANKS;
}

ATTN_API int attn_check_parallel(const struct attn_model *m,
                                 const struct attn_parallel *p)
{
    if (!p)
        return 0;
    const int wrong = check_comm(m, p->comm);
    if (wrong)
        return wrong;
    if (p->parts > 1 && !p->run)
        return ATTN_ERROR_NULL;
    return attn_check_count(p->parts, 0, ATTN_MOST);
}

/* ---- lengths ---- */

#if ATTN_HAS_FIXED
/* Checks that each sequence has the fixed length; `fixed` 0: any length is
 * valid. */
static int check_lengths(const int32_t *start, int64_t n, int64_t fixed)
{
    for (int64_t i = 0; fixed > 0 && i < n; i++)
        if (start[i + 1] - start[i] != fixed)
            return ATTN_ERROR_FIXED;
    return 0;
}

static int check_decoded(const struct attn_model *m, const struct attn_batch *b)
{
    const int seq2seq = m->kind == ATTN_ENCODER_DECODER;
    for (int64_t i = 0; i < b->sequences; i++) {
        if (m->fixed_keys > 0 && b->past[i] + m->fixed_target != m->fixed_keys)
            return ATTN_ERROR_FIXED;
        if (seq2seq && m->fixed_source > 0
            && b->source_rows[b->source[i]] != m->fixed_source)
            return ATTN_ERROR_FIXED;
    }
    return check_lengths(b->start, b->sequences, m->fixed_target);
}

ATTN_API int attn_check_fixed(const struct attn_model *m,
                              const struct attn_batch *b, int decodes,
                              int64_t learned)
{
    if (m->fixed_batch > 0 && b->sequences != m->fixed_batch)
        return ATTN_ERROR_FIXED;
    if (decodes)
        return check_decoded(m, b);
    if (m->kind == ATTN_ATTENTION
        && check_lengths(b->key_start, b->sequences, m->fixed_keys))
        return ATTN_ERROR_FIXED;
    return check_lengths(b->start, b->sequences, m->fixed_source - learned);
}
#endif

ATTN_API int attn_enter(const struct attn_model *m, const void *bound,
                        const struct attn_batch *b, void *arena, int decodes)
{
#if ATTN_HAS_FIXED
    int wrong = attn_check_fixed(m, b, decodes, 0);
    if (wrong)
        return wrong;
#endif
    if (decodes)
        m->decode(bound, b, arena);
    else
        m->encode(bound, b, arena);
    return 0;
}
