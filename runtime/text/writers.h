/* writers.h: the steps of a decoder that write a token's text, one row each:
 * the step's number and the function. If a decoder has several, the lowest
 * number is used; if it has none, the token's text is written unchanged.
 * decode.c makes a table of them. An emitted file contains only the steps of
 * its vocabularies.
 *
 * The includer defines STEP; this file undefines it. */
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
