/* settings.h: options of a search, for attnc and for emitted programs;
 * option_rows.h has a row for each member. Also declares message texts, and
 * hints for unknown options. */
#ifndef ATTN_SETTINGS_1
#define ATTN_SETTINGS_1

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/generate.h"
#include "runtime/base/memory.h"

/* The ways to use a model. Each option lists the uses to which it applies. */
enum {
    ATTN_FOR_LINES = 1,
    ATTN_FOR_PROMPT = 2,
    ATTN_FOR_SCORE = 4,
    ATTN_FOR_ENCODE = 8,   /* token ids in, rows of numbers out */
    ATTN_FOR_NUMBERS = 16, /* rows of numbers in, rows of numbers out */
    ATTN_FOR_CHAT = 32
};

struct attn_settings { /* search options; -1, or 0 for beam and nbest, means the
                        * value of the spec */
    const char *prefix, *draft;
    const char *grammar; /* path of a file; NULL: none */
    int64_t beam, nbest, end_token;
    int64_t max_input, max_output; /* maximum lengths; 0: the model's limit */
    float alpha, patience;
    bool scores, unordered;
    int64_t batch, prompt_rows;   /* answers at a time; tokens of new lines that
                                   * are read in a call */
    int64_t memory, prefix_cache; /* MiB of keys and values of answers, and of
                                   * beginnings of lines; -1: a part of the
                                   * machine's memory */
#if ATTN_HAS_SEARCH
    struct attn_process process;   /* some numbers; -1: not given */
    struct attn_sampling sampling; /* a temperature of -1: not given */
#endif
};

/* ---- words.c ---- */

/* Returns the name that messages give to a use. */
ATTN_API const char *attn_use_text(int use);

/* Returns the end of the message that the option does not apply to this use:
 * ": use OTHER" if there is another option for it, or "". */
ATTN_API const char *attn_use_hint(const char *option, int use);
/* Writes up to 80 bytes of a text for a message; bytes that are not printable
 * ASCII become \xHH. */
enum { ATTN_QUOTED = 4 * 80 + 8 };
ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED]);
/* Returns the Levenshtein distance of two texts; 64 if either has more than 63
 * bytes. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb);

/* ---- option_hints.c ---- */
struct attn_synonym { /* other tools' names for options, a row of synonyms.h */
    const char *answer, *names;
};
struct attn_options {        /* the options that a command accepts */
    const char *const *name; /* "--seed", "SPEC", "--format=json" */
    const struct attn_synonym *synonym;
    int names, synonyms;
};
/* True if the answer begins with something that the command accepts. */
ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o);
/* Maximum distance of a hint from the word; each level includes those before
 * it. */
enum {
    ATTN_HINT_NAMED, /* another spelling, or another tool's name */
    ATTN_HINT_BEGUN, /* the beginning of a name */
    ATTN_HINT_NEAR   /* a name one or two letters away */
};
/* Returns the likely meaning of an option that the command does not have: a
 * name in `o`, or the answer of a synonym. Returns NULL if nothing is
 * similar. */
ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how);

#endif
