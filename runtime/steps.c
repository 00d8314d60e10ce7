/* steps.c: the table of steps: how a text is changed and cut before a model
 * makes ids of it. A step is a row and its functions.                       */
#include "core.h"

/* A decoder has each of its steps once, and what it looks for is a text. */
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

/* clang-format off */
static const struct attn_op steps_table[ATTN_STEP_TABLE] = {
    [ATTN_STEP_NFC] = { attn_form_check, attn_form_most, attn_form, 0 },
    [ATTN_STEP_NFD] = { attn_form_check, attn_form_most, attn_form, 0 },
    [ATTN_STEP_NFKC] = { attn_form_check, attn_form_most, attn_form, 0 },
    [ATTN_STEP_NFKD] = { attn_form_check, attn_form_most, attn_form, 0 },
    [ATTN_STEP_LOWERCASE] = { attn_map_check, attn_map_most, attn_map, 0 },
    [ATTN_STEP_STRIP_ACCENTS] = { attn_map_check, attn_map_most, attn_map, 0 },
    [ATTN_STEP_CLEAN] = { attn_map_check, attn_map_most, attn_map, 0 },
    [ATTN_STEP_ACCENTS] = { attn_map_check, attn_map_most, attn_map, 0 },
    [ATTN_STEP_NMT] = { attn_map_check, attn_map_most, attn_map, 0 },
    [ATTN_STEP_CJK] = { 0, attn_cjk_most, attn_cjk, 0 },
    [ATTN_STEP_STRIP] = { 0, 0, attn_strip, 0 },
    [ATTN_STEP_REPLACE] = { 0, attn_replace_most, attn_replace, 0 },
    [ATTN_STEP_REPLACE_RUN] = { 0, attn_replace_most, attn_replace_run, 0 },
    [ATTN_STEP_PREPEND] = { 0, attn_prepend_most, attn_prepend, 0 },
    [ATTN_STEP_CHARMAP] = { attn_charmap_check, attn_charmap_most,
                            attn_charmap, 0 },
    [ATTN_STEP_SENTENCEPIECE] = { attn_charmap_check, attn_charmap_most,
                                  attn_sentencepiece, 0 },
    [ATTN_STEP_BYTE_LEVEL_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_WORDPIECE_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_METASPACE_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_BYTE_FALLBACK_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_FUSE] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_STRIP_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_REPLACE_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_SUFFIX_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_JOIN_OUT] = { steps_decoder, 0, 0, 0 },
    [ATTN_STEP_PIECES_OUT] = { steps_decoder, 0, 0, 0 },
};
/* clang-format on */

ATTN_API const struct attn_op *attn_step_op(int32_t op)
{
    if (op < ATTN_STEP_NORMALISERS)
        return attn_split_op(op);
    if (op >= ATTN_STEP_TABLE)
        return NULL;
    const struct attn_op *row = &steps_table[op];
    return row->check || row->change || row->find ? row : NULL;
}
