/* settings.h: how a search is set by words: by the options of attnc and of the
 * program, whose rows (option_rows.h) are of these members. */
#ifndef ATTN_SETTINGS_1
#define ATTN_SETTINGS_1

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/memory.h"

/* The ways to use a model. Each option has those that take it. */
enum {
    ATTN_FOR_LINES = 1,
    ATTN_FOR_PROMPT = 2,
    ATTN_FOR_SCORE = 4,
    ATTN_FOR_ENCODE = 8,   /* tokens of lines, by rows of numbers */
    ATTN_FOR_NUMBERS = 16, /* rows of numbers, by others */
    ATTN_FOR_CHAT = 32
};

struct attn_settings { /* -1, and a beam or nbest of 0: as the spec says */
    const char *prefix;
    int64_t beam, nbest, min_length, no_repeat_ngram, end_token;
    int64_t max_input, max_output; /* 0: the model's */
    int64_t top_k;
    double temperature, top_p, min_p; /* -1: not given, as top_k */
    double alpha, patience;
    double repetition_penalty; /* 0: none */
    bool scores;
};

/* ---- words.c ---- */

/* Returns the name of a use for messages. */
ATTN_API const char *attn_use_text(int use);
/* The first n bytes of a text as a message shows them: those that are no
 * printable ASCII as \xHH, 80 at most.                                      */
enum { ATTN_QUOTED = 4 * 80 + 8 };
ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED]);
/* Levenshtein's distance of two texts; 64 where one has more than 63 bytes. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb);

/* ---- option_hints.c ---- */
struct attn_synonym { /* a row of synonyms.h */
    const char *answer, *names;
};
struct attn_options {        /* what a command takes */
    const char *const *name; /* "--seed", "SPEC", "--format=json" */
    const struct attn_synonym *synonym;
    int names, synonyms;
};
/* Does the command take what this answer begins with? */
ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o);
/* How far a hint may be from the word; each has those before it. */
enum {
    ATTN_HINT_NAMED, /* the name in another form, or another tool's name */
    ATTN_HINT_BEGUN, /* the beginning of a name */
    ATTN_HINT_NEAR   /* a name that is one or two letters away */
};
/* Returns what was meant by an option that the command lacks: a name of `o` or
 * the answer of a synonym; NULL: nothing is like it.                        */
ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how);

#endif
