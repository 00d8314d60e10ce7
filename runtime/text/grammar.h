/* grammar.h: a grammar that answers have to follow. Tokens that may not come
 * next are forbidden, by their text. */
#ifndef ATTN_GRAMMAR_1
#define ATTN_GRAMMAR_1

#include "runtime/base/generate.h"
#include "gbnf.h"
#include "text.h"

/* Limits of what is kept. If one is reached, all but the state in use is
 * forgotten. */
enum {
    ATTN_GRAMMAR_NODES = 65536, /* entries of stacks */
    ATTN_GRAMMAR_STATES = 8192, /* states */
    ATTN_GRAMMAR_POOL = 262144, /* stacks of all states */
    ATTN_GRAMMAR_MASKS = 128    /* states with a mask of tokens */
};

struct attn_grammar_node { /* an op that comes next, on top of a stack */
    int32_t op, under;     /* the node under it; 0: the end of the grammar */
};

/* A state of the automaton: the tops of all stacks with which the grammar can
 * go on. Node 0 is among them if the text can end. */
struct attn_grammar_state {
    int32_t at, n; /* its nodes in the pool, in order */
    int32_t mask;  /* its mask; -1: none */
};

struct attn_grammar_bucket { /* tokens whose first two bytes are the same */
    int32_t key; /* first byte * 257, plus 1 + second byte unless it is alone */
    int32_t first, byte; /* first of its tokens, and of their other bytes */
};

struct attn_grammar_mask {
    int32_t state; /* -1: free */
    int64_t used;  /* time of the last use */
};

struct attn_grammar {
    struct attn_gbnf is;
    /* automaton */
    unsigned char class_of[256]; /* bytes that no op distinguishes */
    unsigned char byte_of[256];  /* a byte of each class */
    int64_t classes;
    struct attn_grammar_node *node;
    struct attn_grammar_state *state;
    int32_t *find_node, *find_state; /* hash tables; 0: empty */
    int32_t *stamp, *work, *set, *pool;
    int32_t *next; /* [states][classes] state after a byte; -1: not known */
    int64_t nodes, states, pooled, listed;
    int32_t time, start;
    /* tokens */
    struct attn_vocab v;
    int64_t vocab, size; /* logits; tokens that have one */
    const char *text;    /* the texts of tokens that are not the first */
    const uint32_t *offset;
    unsigned char *has; /* [size] ATTN_GRAMMAR_TEXT, ATTN_GRAMMAR_GAP */
    struct attn_grammar_bucket *bucket; /* [buckets + 1] */
    int64_t buckets;
    int32_t *token; /* tokens in the order of their buckets */
    uint32_t *rest; /* end of the bytes of each after the second */
    char *bytes;    /* these bytes */
    char *piece;    /* text of one token */
    int raw, begun; /* texts are as in the vocabulary; the answer continues
                     * a text */
    /* masks */
    struct attn_grammar_mask mask[ATTN_GRAMMAR_MASKS];
    uint32_t *bits; /* [masks + 2][words] */
    int64_t words, uses;
    int first; /* the mask of first tokens is known */
};

enum {
    ATTN_GRAMMAR_TEXT = 1, /* the token has text */
    ATTN_GRAMMAR_GAP = 2   /* a space follows if a token does */
};

/* ---- automaton.c ---- */

/* Takes the memory of the automaton. */
ATTN_API void attn_automaton_take(struct attn_grammar *g,
                                  struct attn_memory *at);
/* Forgets all states but one, whose new number is returned; -1: it needs more
 * than there is room for. */
ATTN_API int32_t attn_automaton_forget(struct attn_grammar *g, int32_t state);
/* Returns the first state; -1: there is no room. */
ATTN_API int32_t attn_automaton_start(struct attn_grammar *g);
/* Computes the state after a byte: 0 if the byte is not allowed; -1: there is
 * no room. */
ATTN_API int32_t attn_automaton_step(struct attn_grammar *g, int32_t state,
                                     unsigned char byte);
static inline int32_t attn_automaton_next(struct attn_grammar *g, int32_t state,
                                          unsigned char byte)
{
    const int32_t next = g->next[state * g->classes + g->class_of[byte]];
    return next < 0 ? attn_automaton_step(g, state, byte) : next;
}
/* True if the text can end. */
ATTN_API int attn_automaton_ends(const struct attn_grammar *g, int32_t state);

/* ---- grammar_tokens.c ---- */

/* Takes the memory of the tokens' texts, and fills it if there is some. */
ATTN_API void attn_grammar_tokens(struct attn_grammar *g,
                                  struct attn_memory *at);
/* True if what a token prints depends on whether another follows. */
ATTN_API int attn_grammar_trims(const struct attn_vocab *v);
/* Returns the text of a token as the first of an answer, and its length. */
ATTN_API const char *attn_grammar_first(struct attn_grammar *g, int32_t id,
                                        int64_t *n);

/* ---- grammar.c ---- */

struct attn_grammar_request { /* arguments for opening a grammar */
    const char *text;         /* [bytes] in GBNF */
    int64_t bytes;
    const void *block; /* vocabulary of the answer */
    int64_t vocab;     /* tokens that have logits */
    int begun;         /* 1: the answer continues a text, so that a space at its
                        * beginning is printed */
    const int32_t *prefix; /* [prefix_n] first tokens of every answer, which the
                            * grammar is not about */
    int64_t prefix_n;
};
/* Compiles a grammar for the tokens of a vocabulary, in memory taken from `at`,
 * whose size it counts if `at` has no base. Returns 0, or ATTN_ERROR_GRAMMAR
 * with the message in g->is. */
ATTN_API int attn_grammar_open(struct attn_grammar *g,
                               const struct attn_grammar_request *r,
                               struct attn_memory *at);
/* Forbids the tokens that the grammar does not allow next: an attn_constrain,
 * whose constraint is a struct attn_grammar. */
ATTN_API int attn_grammar_allow(void *grammar,
                                const struct attn_search_options *o,
                                const int32_t *answer, int64_t n, float *logits,
                                int64_t vocab);

#endif
