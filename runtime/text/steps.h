/* steps.h: the steps of normalisers and decoders, one row each: its number,
 * then the members of struct attn_op. steps.c makes a table of them. An emitted
 * file contains only the steps of its vocabularies.
 *
 * The includer defines STEP; this file undefines it. */
#ifndef STEP
#define STEP(...)
#endif

/* clang-format off */
STEP(ATTN_STEP_NFC, attn_form_check, attn_form_most, attn_form, 0)
STEP(ATTN_STEP_NFD, attn_form_check, attn_form_most, attn_form, 0)
STEP(ATTN_STEP_NFKC, attn_form_check, attn_form_most, attn_form, 0)
STEP(ATTN_STEP_NFKD, attn_form_check, attn_form_most, attn_form, 0)
STEP(ATTN_STEP_LOWERCASE, attn_map_check, attn_map_most, attn_map, 0)
STEP(ATTN_STEP_STRIP_ACCENTS, attn_map_check, attn_map_most, attn_map, 0)
STEP(ATTN_STEP_CLEAN, attn_map_check, attn_map_most, attn_map, 0)
STEP(ATTN_STEP_ACCENTS, attn_map_check, attn_map_most, attn_map, 0)
STEP(ATTN_STEP_NMT, attn_map_check, attn_map_most, attn_map, 0)
STEP(ATTN_STEP_CJK, 0, attn_cjk_most, attn_cjk, 0)
STEP(ATTN_STEP_STRIP, 0, 0, attn_strip, 0)
STEP(ATTN_STEP_REPLACE, 0, attn_replace_most, attn_replace, 0)
STEP(ATTN_STEP_REPLACE_RUN, 0, attn_replace_most, attn_replace_run, 0)
STEP(ATTN_STEP_PREPEND, 0, attn_prepend_most, attn_prepend, 0)
STEP(ATTN_STEP_CHARMAP, attn_charmap_check, attn_charmap_most, attn_charmap, 0)
STEP(ATTN_STEP_SENTENCEPIECE, attn_charmap_check, attn_charmap_most,
     attn_sentencepiece, 0)
STEP(ATTN_STEP_BYTE_LEVEL_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_WORDPIECE_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_METASPACE_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_BYTE_FALLBACK_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_FUSE, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_STRIP_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_REPLACE_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_SUFFIX_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_JOIN_OUT, steps_decoder, 0, 0, 0)
STEP(ATTN_STEP_PIECES_OUT, steps_decoder, 0, 0, 0)
/* clang-format on */

#undef STEP
