/* encoding.h: a text on its way to ids, and the models that make ids of its
 * pieces: rows of tokens.c.                                                 */
#ifndef ATTN_ENCODING_3
#define ATTN_ENCODING_3

#include "text.h"

struct attn_encoding { /* a text on its way to ids */
    struct attn_vocab vocab;
    int32_t *ids, *offsets; /* [cap], [2 cap] or NULL; n of them found */
    int64_t cap, n;
    int64_t how;                     /* ATTN_BEGUN .. */
    const char *given;               /* the caller's text */
    int64_t bad;                     /* the byte that could not be taken */
    const struct attn_aligned *text; /* that the piece at hand is of */
    int64_t at;                      /* where it begins there */
    int64_t begins;                  /* it begins the caller's text */
    void *memory;                    /* of the model, for a piece */
};
enum {
    ATTN_BEGUN = 1,  /* the text goes on where another ended: no template */
    ATTN_PLAIN = 2,  /* no template */
    ATTN_STARTED = 4 /* the start token stands in front already */
};
struct attn_kind {                                    /* a model */
    const char *(*check)(const struct attn_vocab *v); /* what is wrong */
    /* of its memory for a piece of so many bytes; -1: too long */
    int64_t (*memory)(const struct attn_vocab *v, int64_t bytes);
    /* the ids of one piece: 0, or an error */
    int64_t (*encode)(struct attn_encoding *e, const char *text, int64_t n);
};
/* NULL: there is no such model. */
ATTN_API const struct attn_kind *attn_vocab_kind(int32_t kind);
/* An id for the bytes from .. to - 1 of the piece: 0, or ATTN_ERROR_ROOM. */
ATTN_API int64_t attn_encode_put(struct attn_encoding *e, int32_t id,
                                 int64_t from, int64_t to);
/* The same for a token that was added, with the place of its text. */
ATTN_API int64_t attn_encode_added(struct attn_encoding *e, int32_t id,
                                   const struct attn_aligned *text,
                                   int64_t from, int64_t to);
/* 0, or an error: the byte `at` of the piece could not be taken. */
ATTN_API int64_t attn_encode_bad(struct attn_encoding *e, int64_t error,
                                 int64_t at);

/* The symbols of a word, which merges join (ranks.c): by the table of pairs;
 * with `text` also by the pieces' texts and scores (merges.c), where the table
 * is not there or a symbol has no token.                                    */
struct attn_symbol {
    int32_t id, from;   /* of its token, -1: none; where its text begins */
    int32_t rank, into; /* of the merge with the next one */
};
struct attn_symbols {
    const struct attn_vocab *v;
    const char *text;
    struct attn_symbol *symbol;         /* [n] */
    int32_t *before, *next, *heap, *at; /* [n] each, of long words */
    int64_t n, heap_n, end;             /* end: of the text so far */
    struct attn_pair last; /* that was looked for: letters repeat */
};
ATTN_API void attn_symbols_take(struct attn_symbols *r, int64_t n,
                                struct attn_memory *at);
ATTN_API void attn_symbols_add(struct attn_symbols *r, int32_t id,
                               int64_t bytes);
/* Of all neighbours that a merge joins the first, until none is left. */
ATTN_API void attn_symbols_join(struct attn_symbols *r);
/* The token that a word is at once; -1: it is not known to be one. */
ATTN_API int32_t attn_symbols_word(const struct attn_vocab *v, const char *s,
                                   int64_t n);
/* Where the word at `at` ends: in front of a space, U+2581 or with `plain` that
 * of ASCII, behind another character.                                       */
ATTN_API int64_t attn_word_end(const char *text, int64_t n, int64_t at,
                               int plain);
/* The piece that text becomes; -1: none. Its place in the order of scores. */
ATTN_API int32_t attn_piece_find(const struct attn_vocab *v, const char *text,
                                 int64_t n);
ATTN_API int32_t attn_piece_rank(const struct attn_vocab *v, int32_t id);
ATTN_API const char *attn_pairs_check(const struct attn_vocab *v);
ATTN_API const char *attn_ranks_check(const struct attn_vocab *v);
ATTN_API int64_t attn_ranks_bytes(const struct attn_vocab *v, int64_t bytes);
ATTN_API int64_t attn_ranks(struct attn_encoding *e, const char *text,
                            int64_t n);
ATTN_API const char *attn_merges_check(const struct attn_vocab *v);
ATTN_API int64_t attn_merges_bytes(const struct attn_vocab *v, int64_t bytes);
ATTN_API int64_t attn_merges(struct attn_encoding *e, const char *text,
                             int64_t n);

ATTN_API const char *attn_wordpiece_check(const struct attn_vocab *v);
ATTN_API int64_t attn_wordpiece_bytes(const struct attn_vocab *v,
                                      int64_t bytes);
ATTN_API int64_t attn_wordpiece(struct attn_encoding *e, const char *text,
                                int64_t n);
ATTN_API const char *attn_unigram_check(const struct attn_vocab *v);
ATTN_API int64_t attn_unigram_bytes(const struct attn_vocab *v, int64_t bytes);
ATTN_API int64_t attn_unigram(struct attn_encoding *e, const char *text,
                              int64_t n);

#endif
