/* generate.h: options and results of text generation: logits processors,
 * sampling and search; hypotheses; streams, which grow token by token, with
 * their caches and saved states.                                            */
#ifndef ATTN_GENERATE_2
#define ATTN_GENERATE_2

#include "compiled_model.h"

/* Options of the logits processors, a table of functions that change each row
 * of logits before the search reads it. A logit of -INFINITY forbids a token.
 * Scores are computed from the processed logits, so the other tokens share the
 * probability of forbidden ones.                                            */
struct attn_process {         /* zero turns an option off */
    int64_t min_length;       /* no end token before this many tokens */
    float repetition_penalty; /* 0 or 1: off */
    int64_t no_repeat_ngram;
    const int32_t *suppress;       /* sequences, each as its length, then its
                                      tokens */
    int64_t suppress_size;         /* number of entries of suppress[] */
    const int32_t *suppress_first; /* forbidden as the first token after */
    int64_t suppress_first_count;  /* the prefix, if any; and their number */
    const int32_t *forbid; /* tokens never produced (start, pad); the end
                              token is allowed even if listed */
    int64_t forbid_count;
};

/* Sampling: draws tokens instead of taking the best. The steps, in this order:
 * divide logits by the temperature; keep the top_k best; of these, keep the
 * best whose probabilities sum to top_p; of these, keep those at least min_p
 * times as probable as the best. Zero turns a step off.                     */
struct attn_sampling {
    float temperature;  /* 0: always the best token */
    float top_p, min_p; /* 0 .. 1 */
    int64_t top_k;
    int64_t seed;
};

enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

struct attn_search_options {
    int64_t beam;    /* 1: greedy */
    int64_t results; /* hypotheses to return per sentence */
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;      /* tokens, with the end token; 0: the number of
                                positions of the model */
    int64_t max_output_plus; /* >= 0: the limit is also source rows + this */
    int64_t max_input;       /* > 0: longer inputs are truncated */
    float patience;          /* recorded rule: stop at round(beam * patience) */
    int32_t start, end;
    const int32_t *ends; /* [ends_count] more tokens that end an answer */
    int64_t ends_count;
    const int32_t *prefix; /* [prefix_n] first tokens of every answer */
    int64_t prefix_n;
    int64_t want_scores; /* greedy: 0 skips log-probabilities */
    struct attn_process process;
    struct attn_sampling sampling;        /* only with beam 1 */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct attn_hypothesis {   /* one answer, in the search's arena */
    const int32_t *tokens; /* without start and end; prefix included */
    int64_t n;
    int64_t ended;         /* 1: by the end token; 0: by the limit */
    float score;           /* after the length penalty */
    float log_probability; /* sum, without penalty */
};

/* Reference-counted pages of keys and values, which sequences share. A slot is
 * one sequence's row in the table. Full pages are shared. A partly filled page
 * is copied, up to its last used position, when a second sequence writes to it.
 * Pages that no later row reads are freed.                                  */
struct attn_cache_group { /* one of the model's caches */
    struct attn_cache_layout is;
    int64_t which;      /* index in the model's cache[] */
    float *pool;        /* [pages] page_floats each, 64-byte aligned */
    int32_t *table;     /* [slots][width] page of each 64 positions */
    int32_t *first;     /* [slots] first valid entry; earlier pages are freed */
    int32_t *refs;      /* [pages] readers of each page */
    int32_t *free_list; /* [pages] stack of free pages */
    int64_t pages, free_count;
};
struct attn_cache {  /* all caches of ATTN_SELF or of ATTN_CROSS */
    int32_t *length; /* [slots] positions stored */
    int64_t slots, width, groups;
    struct attn_cache_group group[ATTN_CACHES];
};

enum {
    ATTN_STREAM_END = -1, /* the end token or a stop token came */
    ATTN_STREAM_FULL = -2 /* no space for a token, or none is allowed */
};

struct attn_stream_room { /* shared by the streams opened together */
    struct attn_cache self, cross;
    int64_t streams, width; /* number of streams; maximum tokens of each */
    int32_t source_rows;
    int32_t *tokens; /* [streams][width] */
    int32_t *order;
    float *logits;
    void *arena;
};
struct attn_stream {
    const struct attn_model *model;
    const void *bound;
    struct attn_search_options o; /* start, end, process, sampling */
    const int32_t *stop;          /* [stops] more tokens that end it */
    int64_t stops;
    struct attn_stream_room *room;
    int64_t slot;    /* in the room */
    int32_t *tokens; /* [n] start, prompt, answer */
    int64_t n;
    int64_t lead; /* tokens before the answer */
    int64_t read; /* tokens already in the cache */
    int64_t ended;
};

struct attn_state_header { /* the first bytes of a saved stream */
    char magic[8];         /* "ATTNST03" */
    uint64_t hash;         /* of everything after this field */
    int64_t bytes;         /* of the complete state */
    uint64_t model;        /* hash of the model's sizes, spec and weights */
    int64_t tokens, lead, read, source_rows; /* same as in the stream */
    /* Followed by int32_t tokens[]; the pages of each self cache, then of each
     * cross cache, from the first that a later row may read; states.        */
};

#endif
