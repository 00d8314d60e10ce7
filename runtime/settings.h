/* settings.h: how a search is set by words: by the options of attnc and of the
 * program, whose rows (options.h) are of these members. */
#ifndef ATTN_SETTINGS_1
#define ATTN_SETTINGS_1

#include <stdbool.h>
#include <stddef.h>

#include "generate.h"
#include "memory.h"

enum { /* what is done: an option is for some of these */
       ATTN_FOR_LINES = 1,
       ATTN_FOR_PROMPT = 2,
       ATTN_FOR_SCORE = 4,
       ATTN_FOR_ENCODE = 8,  /* tokens of lines, by rows of numbers */
       ATTN_FOR_NUMBERS = 16 /* rows of numbers, by others */
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

/* 0: the best token is taken. */
ATTN_API double attn_settings_temperature(const struct attn_settings *s);
/* Changes the search that the spec asks for, and `o` is. stated: the spec says
 * how wide its beam is.                                                     */
ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o);
/* What cannot be done together with the others; NULL: all can. use:
 * ATTN_FOR_LINES, ATTN_FOR_PROMPT.                                          */
ATTN_API const char *attn_settings_wrong(const struct attn_settings *s,
                                         int use);
/* What a use is called in messages. */
ATTN_API const char *attn_use_text(int use);

#endif
