/* writers.h: the steps of a decoder that write the text of a token, a row each:
 * the step's number, the function. Of several steps that of the least number
 * does it; without one the token's own text is taken. decode.c has them in a
 * table; that of an emitted file has the steps of its vocabularies.
 *
 * Included where STEP is defined, which it is no more behind this.          */
#ifndef STEP
#define STEP(...)
#endif

/* clang-format off */
STEP(ATTN_STEP_BYTE_LEVEL_OUT, decode_level)
STEP(ATTN_STEP_WORDPIECE_OUT, decode_word)
STEP(ATTN_STEP_PIECES_OUT, decode_piece)
STEP(ATTN_STEP_METASPACE_OUT, decode_marks)
STEP(ATTN_STEP_REPLACE_OUT, decode_marks)
STEP(ATTN_STEP_SUFFIX_OUT, decode_marks)
/* clang-format on */

#undef STEP
