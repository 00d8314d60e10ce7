/* encoding.h: the state of an encoding, and the tokenizer's models (rows of
 * tokens.c), which convert pieces of text to ids. */
#ifndef ATTN_ENCODING_3
#define ATTN_ENCODING_3

#include "text.h"

struct attn_encoding { /* an encoding in progress */
    struct attn_vocab vocab;
    int32_t *ids, *offsets; /* [cap] ids; [2 * cap] offsets, or NULL; the
                               first n ids are filled */
    int64_t cap, n;
    int64_t how;       /* flags: ATTN_BEGUN, ATTN_PLAIN, ATTN_STARTED */
    const char *given; /* text passed by the caller */
    int64_t bad;       /* position of the byte that caused an error */
    const struct attn_aligned *text; /* text that contains the current piece */
    int64_t at;                      /* start of the piece in `text` */
    int64_t begins;                  /* 1: the piece begins the caller's text */
    void *memory;                    /* scratch memory to convert one piece */
};
enum {
    ATTN_BEGUN = 1,  /* the text continues an earlier one: no template */
    ATTN_PLAIN = 2,  /* no template */
    ATTN_STARTED = 4 /* the start token already precedes the text */
};
struct attn_kind { /* a model that converts pieces to ids */
    const char *(*check)(const struct attn_vocab *v); /* returns NULL, or a
                                                         message if the block
                                                         is invalid */
    /* returns the bytes of memory for a piece of this length; -1: too long */
    int64_t (*memory)(const struct attn_vocab *v, int64_t bytes);
    /* adds the ids of one piece; returns 0 or an error */
    int64_t (*encode)(struct attn_encoding *e, const char *text, int64_t n);
};
/* Returns the model of this kind, or NULL. */
ATTN_API const struct attn_kind *attn_vocab_kind(int32_t kind);
/* Adds an id for bytes from .. to - 1 of the current piece. Returns 0 or
 * ATTN_ERROR_ROOM. */
ATTN_API int64_t attn_encode_put(struct attn_encoding *e, int32_t id,
                                 int64_t from, int64_t to);
/* Adds the id of an added token for bytes from .. to - 1 of `text`. */
ATTN_API int64_t attn_encode_added(struct attn_encoding *e, int32_t id,
                                   const struct attn_aligned *text,
                                   int64_t from, int64_t to);
/* Records that byte `at` of the piece failed, and returns the error. */
ATTN_API int64_t attn_encode_bad(struct attn_encoding *e, int64_t error,
                                 int64_t at);

/* The symbols of a word, which merges join (ranks.c). Merges are looked up in
 * the table of pairs. If there is no table or a symbol has no token, and `text`
 * is set, the texts and scores of pieces are used instead (merges.c). */
struct attn_symbol {
    int32_t id, from;   /* token of the symbol, or -1; start of its text */
    int32_t rank, into; /* rank and result of the merge with the next symbol */
};
struct attn_symbols {
    const struct attn_vocab *v;
    const char *text;
    struct attn_symbol *symbol;         /* [n] symbols of the word */
    int32_t *before, *next, *heap, *at; /* [n] each; used only for long words */
    int64_t n, heap_n, end;             /* `end`: end of the last symbol's
                                         * text */
    struct attn_pair last;              /* result of the last lookup, kept
                                         * because letters repeat */
};
ATTN_API void attn_symbols_take(struct attn_symbols *r, int64_t n,
                                struct attn_memory *at);
ATTN_API void attn_symbols_add(struct attn_symbols *r, int32_t id,
                               int64_t bytes);
/* Repeatedly joins the neighbours whose merge has the lowest rank, until no
 * merge applies. */
ATTN_API void attn_symbols_join(struct attn_symbols *r);
/* Returns the token of a word that the table of words lists as a single token,
 * otherwise -1. */
ATTN_API int32_t attn_symbols_word(const struct attn_vocab *v, const char *s,
                                   int64_t n);
/* Returns the end of the word at `at`: the position of the next space that
 * follows another character. A space is U+2581 or, if `plain` is set, also '
 * '. */
ATTN_API int64_t attn_word_end(const char *text, int64_t n, int64_t at,
                               int plain);
/* attn_piece_find() returns the normal piece with this text, or -1.
 * attn_piece_rank() returns a rank that orders pieces by score: a higher score
 * has a lower rank. */
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
