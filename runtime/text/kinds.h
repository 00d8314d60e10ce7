/* kinds.h: the models that convert a piece of text to ids, one row each: its
 * kind, then the members of struct attn_kind. tokens.c makes a table of them.
 * An emitted file contains only the kinds of its vocabularies.
 *
 * The includer defines KIND; this file undefines it. */
#ifndef KIND
#define KIND(...)
#endif

/* clang-format off */
KIND(ATTN_CHARACTERS, tokens_check, tokens_no_room, tokens_characters)
KIND(ATTN_SPACES, tokens_check, tokens_no_room, tokens_spaces)
KIND(ATTN_MERGES, attn_merges_check, attn_merges_bytes, attn_merges)
KIND(ATTN_RANKS, attn_ranks_check, attn_ranks_bytes, attn_ranks)
KIND(ATTN_WORDPIECE, attn_wordpiece_check, attn_wordpiece_bytes, attn_wordpiece)
KIND(ATTN_UNIGRAM, attn_unigram_check, attn_unigram_bytes, attn_unigram)
/* clang-format on */

#undef KIND
