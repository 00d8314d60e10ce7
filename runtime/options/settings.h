/* settings.h: options of a search, for attnc and for emitted programs;
 * option_rows.h has a row for each member. Also texts and hints for options. */
#ifndef ATTN_SETTINGS_1
#define ATTN_SETTINGS_1

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/memory.h"

/* The ways to use a model. Each option lists those that take it. */
enum {
    ATTN_FOR_LINES = 1,
    ATTN_FOR_PROMPT = 2,
    ATTN_FOR_SCORE = 4,
    ATTN_FOR_ENCODE = 8,   /* lines of tokens to rows of numbers */
    ATTN_FOR_NUMBERS = 16, /* rows of numbers to rows of numbers */
    ATTN_FOR_CHAT = 32
};

struct attn_settings { /* -1, or 0 for beam and nbest: the spec's value */
    const char *prefix;
    int64_t beam, nbest, min_length, no_repeat_ngram, end_token;
    int64_t max_input, max_output; /* 0: the model's limit */
    int64_t top_k;
    double temperature, top_p, min_p; /* -1: not given; top_k too */
    double alpha, patience;
    double repetition_penalty; /* 0: not given */
    bool scores;
};

/* ---- words.c ---- */

/* Returns the name of a use for messages. */
ATTN_API const char *attn_use_text(int use);
/* Writes the first n bytes of a text for a message: at most 80, with bytes that
 * are not printable ASCII as \xHH. */
enum { ATTN_QUOTED = 4 * 80 + 8 };
ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED]);
/* Returns the Levenshtein distance of two texts; 64 if one has more than 63
 * bytes. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb);

/* ---- option_hints.c ---- */
struct attn_synonym { /* a row of synonyms.h */
    const char *answer, *names;
};
struct attn_options {        /* what a command accepts */
    const char *const *name; /* "--seed", "SPEC", "--format=json" */
    const struct attn_synonym *synonym;
    int names, synonyms;
};
/* True if the command accepts the beginning of this answer. */
ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o);
/* How different a hint may be; each level includes those before it. */
enum {
    ATTN_HINT_NAMED, /* another spelling, or another tool's name */
    ATTN_HINT_BEGUN, /* the beginning of a name */
    ATTN_HINT_NEAR   /* a name one or two letters away */
};
/* Returns what was meant by an option that the command lacks: a name of `o` or
 * the answer of a synonym; NULL: nothing similar. */
ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how);

#endif
