/* gbnf.h: grammars in GBNF, the notation of llama.cpp, compiled to a program of
 * bytes. A rule is a range of ops; positions in it are relative, so that a
 * repetition can be copied. */
#ifndef ATTN_GBNF_1
#define ATTN_GBNF_1

#include "runtime/base/memory.h"

enum {
    ATTN_GBNF_BYTE,         /* a byte from lo to hi, then the next op */
    ATTN_GBNF_SPLIT,        /* the next op, or the one `to` further */
    ATTN_GBNF_JUMP,         /* the op `to` further */
    ATTN_GBNF_CALL,         /* rule `to`, then the next op */
    ATTN_GBNF_RETURN,       /* the end of rule `to` */
    ATTN_GBNF_MOST = 262144 /* maximum ops of a grammar */
};

struct attn_gbnf_op {
    unsigned char kind, lo, hi, reserved;
    int32_t to;
};

struct attn_gbnf_rule {
    int32_t at, bytes; /* place and length of the name in the text */
    int32_t start;     /* its first op */
    int32_t calls;     /* its first CALL; -1: none */
    unsigned char empty, ends, clean; /* matches the empty text; matches some
                                       * text; is not left-recursive */
};

struct attn_gbnf {
    const char *text;
    int64_t bytes;
    struct attn_gbnf_op *op;
    struct attn_gbnf_rule *rule;
    int32_t *find; /* [2 * rules] hash table of names: rule plus 1; 0: empty */
    /* scratch memory */
    unsigned char *mark; /* [ops] */
    int32_t *same;       /* [ops] next CALL of the same rule; -1: none */
    int32_t *work;       /* [ops] */
    int64_t ops, rules, root;
    unsigned char edge[257]; /* 1: a range of some op begins at this byte, or
                              * ends before it */
    int64_t at;              /* place of the error in the text */
    const char *why;         /* the error, a static text; NULL: none */
};

/* ---- gbnf_set.c ---- */

enum { ATTN_GBNF_RANGES = 256, ATTN_GBNF_LAST = 0x10ffff };

struct attn_gbnf_set { /* code points, as sorted ranges that do not touch */
    int64_t n;
    uint32_t lo[ATTN_GBNF_RANGES], hi[ATTN_GBNF_RANGES];
};

/* Adds a range to a set. Returns 0 if that has as many as it can. */
ATTN_API int attn_gbnf_add(struct attn_gbnf_set *set, uint32_t lo, uint32_t hi);
/* Makes the set of all characters that are not in the set. */
ATTN_API void attn_gbnf_invert(struct attn_gbnf_set *set);

/* Returns the slot in g->find of a name, which is 0 if no rule has it. */
ATTN_API int32_t *attn_gbnf_find(struct attn_gbnf *g, const char *name,
                                 int64_t n);

/* ---- gbnf.c ---- */

/* Reads g->text and writes its ops, without the checks of attn_gbnf_read(). */
ATTN_API int attn_gbnf_parse(struct attn_gbnf *g, struct attn_memory *at);

/* ---- gbnf_check.c ---- */

/* Compiles a grammar into memory taken from `at`, whose size it counts if `at`
 * has no base. Returns 0, or ATTN_ERROR_GRAMMAR with g->why and g->at. The text
 * has to stay in place. */
ATTN_API int attn_gbnf_read(struct attn_gbnf *g, const char *text,
                            int64_t bytes, struct attn_memory *at);
/* Sets the line and the column, in characters, of a place in a text. Both begin
 * at 1, after a byte order mark. */
ATTN_API void attn_gbnf_place(const char *text, int64_t at, int64_t *line,
                              int64_t *column);

#endif
