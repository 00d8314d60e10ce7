/* steps.c: the table of steps that change and split a text before a model
 * converts it to ids. A step is a row of functions. */
#include "runtime/core.h"

/* Checks a decoder's step: the step occurs only once, and the text to search
 * for is not empty. */
static const char *steps_decoder(const struct attn_vocab *v,
                                 const struct attn_step *s)
{
    const int list = ATTN_DECODE - ATTN_NORMAL;
    int64_t same = 0;
    const int looks = (s->op == ATTN_STEP_REPLACE_OUT)
                    + (s->op == ATTN_STEP_METASPACE_OUT)
                    + (s->op == ATTN_STEP_SUFFIX_OUT)
                    + (s->op == ATTN_STEP_STRIP_OUT)
                    + (s->op == ATTN_STEP_PIECES_OUT);
    for (int64_t i = 0; i < v->steps[list]; i++) {
        same += v->step[list][i].op == s->op;
        if (v->step[list][i].op < ATTN_STEP_OUT)
            return "vocabulary: a step of the decoder is none";
    }
    if (same != 1)
        return "vocabulary: a step of the decoder is there twice";
    if (looks && s->text.bytes == 0)
        return "vocabulary: a step of the decoder looks for no text";
    return NULL;
}

#define STEP(op, ...) [op] = { __VA_ARGS__ },
static const struct attn_op steps_table[ATTN_STEP_TABLE] = {
#include "steps.h"
};

ATTN_API const struct attn_op *attn_step_op(int32_t op)
{
    if (op < ATTN_STEP_NORMALISERS)
        return attn_split_op(op);
    if (op >= ATTN_STEP_TABLE)
        return NULL;
    const struct attn_op *row = &steps_table[op];
    return row->check || row->change || row->find ? row : NULL;
}
