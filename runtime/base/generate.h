/* generate.h: what a model that generates is asked with and answers: options of
 * logits processors, sampling and search; hypotheses; streams, whose answers
 * grow token by token, their caches and states.                             */
#ifndef ATTN_GENERATE_2
#define ATTN_GENERATE_2

#include "compiled_model.h"

/* Logits processors: a table of functions run on each row of logits before
 * the search looks at it. -INFINITY forbids a token, whose probability falls
 * to the others: answers' scores are of the processed logits.               */
struct attn_process {         /* options; zero means off */
    int64_t min_length;       /* end is forbidden before this many tokens */
    float repetition_penalty; /* 0, 1: off */
    int64_t no_repeat_ngram;
    const int32_t *suppress; /* sequences, each: length, then its tokens */
    int64_t suppress_size;   /* entries of suppress[] */
    const int32_t *suppress_first; /* tokens that are not an answer's first, */
    int64_t suppress_first_count;  /* nor the first behind its prefix */
    const int32_t *forbid; /* tokens never produced (start, pad), but for
                              end, which always may be */
    int64_t forbid_count;
};

/* Sampling: drawing tokens instead of taking the best. In this order: logits
 * are divided by the temperature; the top_k best stay; of these the best that
 * have top_p of the probability; of these those that are min_p times as
 * probable as the best. Zero means off.                                     */
struct attn_sampling {
    float temperature;  /* 0: the best token, always */
    float top_p, min_p; /* 0 .. 1 */
    int64_t top_k;
    int64_t seed;
};

enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

struct attn_search_options {
    int64_t beam;    /* 1: greedy */
    int64_t results; /* hypotheses wanted of each sentence */
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;      /* tokens, the end token counted; 0: as many
                                as the model has positions for */
    int64_t max_output_plus; /* >= 0: limit is source rows + this too */
    int64_t max_input;       /* > 0: longer inputs are cut */
    float patience;          /* recorded: stop at round(beam*patience) */
    int32_t start, end;
    const int32_t *ends; /* [ends_count] more tokens that end an answer */
    int64_t ends_count;
    const int32_t *prefix; /* [prefix_n] first tokens of every answer */
    int64_t prefix_n;
    int64_t want_scores; /* greedy: 0 skips the log-probabilities */
    struct attn_process process;
    struct attn_sampling sampling;        /* beam 1 alone */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct attn_hypothesis {   /* one answer; memory in the search's arena */
    const int32_t *tokens; /* without start and end; prefix included */
    int64_t n;
    int64_t ended;         /* the end token came (else the limit did) */
    float score;           /* by the penalty rule */
    float log_probability; /* summed, without penalty */
};

/* Pages of keys and values, shared between sequences by counting. A slot is
 * one sequence's row in the table. Full pages are shared; an open page is
 * copied when a second writer needs it, the used part of it alone. Pages that
 * no later row reads are given back.                                        */
struct attn_cache_group { /* one of the model's caches */
    struct attn_cache_layout is;
    int64_t which;      /* of the model's */
    float *pool;        /* [pages] page_floats each, 64-byte aligned */
    int32_t *table;     /* [slots][width] page of each 64 positions */
    int32_t *first;     /* [slots] of its entries; those before it are gone */
    int32_t *refs;      /* [pages] readers of each page */
    int32_t *free_list; /* [pages] stack of free pages */
    int64_t pages, free_count;
};
struct attn_cache {  /* all that are of ATTN_SELF, or of ATTN_CROSS */
    int32_t *length; /* [slots] positions stored */
    int64_t slots, width, groups;
    struct attn_cache_group group[ATTN_CACHES];
};

enum {
    ATTN_STREAM_END = -1, /* the end token, or one that stops, came */
    ATTN_STREAM_FULL = -2 /* no room for a token, or none is allowed */
};

struct attn_stream_room { /* what the streams of one beginning share */
    struct attn_cache self, cross;
    int64_t streams, width; /* how many; tokens that each may have */
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
    int64_t slot;    /* of the room */
    int32_t *tokens; /* [n] start, prompt, answer */
    int64_t n;
    int64_t lead; /* tokens before the answer */
    int64_t read; /* tokens that are in the cache */
    int64_t ended;
};

struct attn_state_header { /* the first bytes of a saved stream */
    char magic[8];         /* "ATTNST03" */
    uint64_t hash;         /* of all that follows */
    int64_t bytes;         /* of all */
    uint64_t model;        /* its sizes, spec and weights, hashed */
    int64_t tokens, lead, read, source_rows; /* as in the stream */
    /* int32_t tokens[]; the pages of each self, then of each cross cache, from
     * the first that a later row may read; states */
};

#endif
