/* kinds.h: the models that make ids of a piece of text, a row each: its kind,
 * then the members of struct attn_kind. tokens.c has them in a table; that of
 * an emitted file has the kinds of its vocabularies.
 *
 * Included where KIND is defined, which it is no more behind this.          */
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
