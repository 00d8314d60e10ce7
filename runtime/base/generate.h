/* generate.h: options and results of text generation: logits processors,
 * sampling and search; hypotheses; and streams, which grow token by token, with
 * their caches and saved states. */
#ifndef ATTN_GENERATE_3
#define ATTN_GENERATE_3

#include "compiled_model.h"

struct attn_search_options;

/* Forbids tokens, by logits of -INFINITY, that may not follow an answer of n
 * tokens, of which the first o->prefix_n are its prefix. May write to
 * *constraint, which then serves one thread at a time. Returns 0, or another
 * number if no token may follow. */
typedef int attn_constrain(void *constraint,
                           const struct attn_search_options *o,
                           const int32_t *answer, int64_t n, float *logits,
                           int64_t vocab);

/* Options of the logits processors, a table of functions that change each row
 * of logits before the search reads it. A logit of -INFINITY forbids a token.
 * Scores are computed from the changed logits, so the share of forbidden tokens
 * goes to the other tokens. Only min_length and suppress_first count the answer
 * alone: the others also see the start token and a decoder's prompt. */
struct attn_process {         /* zero turns an option off */
    int64_t min_length;       /* no end token before this many tokens */
    int64_t min_total;        /* the same, but start and prompt count, too */
    float repetition_penalty; /* 0 or 1: off */
    int64_t no_repeat_ngram;
    int64_t log_probabilities;     /* beam > 1: they change log-probabilities
                                      instead, which are not normalised again */
    const int32_t *suppress;       /* forbidden sequences, each as its
                                      length, then its tokens */
    int64_t suppress_size;         /* number of entries of suppress[] */
    const int32_t *suppress_first; /* tokens that may not be the first of an
                                    * answer, after any prefix */
    int64_t suppress_first_count;  /* number of these tokens */
    const int32_t *forbid; /* tokens that are never produced (start, pad);
                              the end token is allowed even if listed */
    int64_t forbid_count;
    attn_constrain *constrain; /* called after the others; NULL: none */
    void *constraint;          /* its first argument */
};

/* Sampling: draws a token instead of taking the best. These steps are applied
 * in order: divide the logits by the temperature; keep the top_k best tokens;
 * of these, keep the best whose probabilities sum to top_p; of these, keep
 * those at least min_p times as probable as the best. Zero turns a step off. */
struct attn_sampling {
    float temperature;  /* 0: takes the best token */
    float top_p, min_p; /* each from 0 to 1; 0: off */
    int64_t top_k;
    int64_t seed;
};

enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

/* Drafts: a stream guesses its next tokens and reads them in one call. They
 * never change an answer, only how long it takes. */
enum { ATTN_DRAFT_NONE = 0, ATTN_DRAFT_NGRAM = 1, ATTN_DRAFT_MODEL = 2 };
enum { ATTN_DRAFT_MOST = 15 }; /* maximum tokens that are proposed at once */

struct attn_drafter { /* a smaller model that guesses */
    const struct attn_model *model;
    const void *bound;
};

struct attn_search_options {
    int64_t beam;    /* hypotheses that stay open; 1: greedy */
    int64_t results; /* number of hypotheses returned per sentence */
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;      /* maximum tokens of an answer, with the end token;
                              * 0: the model's number of positions */
    int64_t max_output_plus; /* if >= 0, another limit: source rows + this */
    int64_t max_input;       /* longer inputs are truncated; 0: no limit */
    float patience;          /* recorded rule: stops after round(beam *
                                patience) answers */
    int32_t start, end;
    const int32_t *ends; /* [ends_count] more tokens that end an answer */
    int64_t ends_count;
    const int32_t *prefix; /* [prefix_n] first tokens of every answer */
    int64_t prefix_n;
    int64_t want_scores; /* greedy: 0 skips computing log-probabilities */
    int64_t draft;       /* streams only: proposals for the next tokens;
                          * ATTN_DRAFT_NGRAM: those that followed the last
                          * tokens where these came before;
                          * ATTN_DRAFT_MODEL: those that *drafter chooses */
    const struct attn_drafter *drafter;
    struct attn_process process;
    struct attn_sampling sampling;        /* only if beam is 1 */
    const struct attn_parallel *parallel; /* NULL: one thread */
};

struct attn_hypothesis {   /* one answer, in the search's arena */
    const int32_t *tokens; /* without start and end token, but with the
                            * prefix */
    int64_t n;
    int64_t ended;         /* 1: the end token came; 0: the limit was reached */
    float score;           /* after the length penalty */
    float log_probability; /* sum of log-probabilities, no length penalty */
};

/* Reference-counted pages of keys and values, which sequences share. A slot is
 * one sequence's row in the table. Full pages are shared. If a second sequence
 * writes to a partly filled page, that page is first copied up to its last used
 * position. Pages that no later row reads are freed. */
struct attn_cache_group { /* one of the model's caches */
    struct attn_cache_layout is;
    int64_t which;      /* index in the model's cache[] */
    float *pool;        /* [pages] page_bytes each, 64-byte aligned */
    int32_t *table;     /* [slots][width] page for each 64 positions of a
                         * slot */
    int32_t *first;     /* [slots] first valid entry of each slot; earlier
                           pages are freed */
    int32_t *refs;      /* [pages] number of slots that use each page */
    int32_t *free_list; /* [pages] stack of free pages */
    int64_t pages, free_count;
};
struct attn_cache {  /* all caches of ATTN_SELF, or all of ATTN_CROSS */
    int32_t *length; /* [slots] number of positions stored */
    int64_t slots, width, groups;
    struct attn_cache_group group[ATTN_CACHES];
};

enum {
    ATTN_STREAM_END = -1, /* the end token or a stop token was chosen */
    ATTN_STREAM_FULL = -2 /* no space for a token, or no token is allowed */
};

struct attn_draft { /* proposed rows that a call has read, and how many the next
                     * call gets */
    int32_t ids[ATTN_DRAFT_MOST]; /* the proposed tokens */
    int64_t slot;                 /* the stream for which they were read */
    int64_t first, end; /* the rows whose logits are in the room; the first is
                         * that of the last chosen token. end 0: none */
    int64_t next;       /* the first row whose logits were not used yet */
    int64_t most;       /* maximum tokens proposed at once, 0: no draft */
    int64_t size;       /* index of the number that is proposed */
    int64_t credit;     /* proposals that taken ones have paid for */
    int64_t pause, pause_after; /* tokens until the next proposal; tokens of
                                 * the next pause */
    int32_t *source; /* [source_n] tokens of the source, if they are of
                      * the vocabulary of the answer */
    int64_t source_n;
    int32_t *heads, *before;     /* index of the text: the latest place of each
                                  * hash of two tokens, and the place before it
                                  * with the same hash; both plus one */
    int64_t indexed, index_slot; /* places that are indexed; their stream */
    struct attn_stream *by;      /* the drafter's stream; NULL: there is none */
    void *memory;                /* [bytes] its room */
    int64_t bytes;
    int64_t gain;            /* proposals that a taken one pays for */
    int64_t proposed, taken; /* numbers of tokens, since the room was opened */
};

struct attn_stream_room { /* memory shared by streams that were opened
                           * together */
    struct attn_cache self, cross;
    int64_t streams, width; /* number of streams; maximum tokens of each */
    int32_t source_rows;
    int32_t *tokens; /* [streams][width] tokens of each stream */
    int32_t *order;
    float *logits; /* of the last row; with a draft, also of those after it */
    struct attn_draft draft;
    void *arena;
};
struct attn_stream {
    const struct attn_model *model;
    const void *bound;
    struct attn_search_options o; /* the used members: start, end, prefix,
                                     process, sampling */
    const int32_t *stop; /* [stops] further tokens that end the answer */
    int64_t stops;
    struct attn_stream_room *room;
    int64_t slot;    /* index in the room */
    int32_t *tokens; /* [n] start token, prompt and answer */
    int64_t n;
    int64_t lead; /* number of tokens before the answer */
    int64_t read; /* number of tokens in the cache */
    int64_t ended;
};

struct attn_state_header { /* the first bytes of a saved stream */
    char magic[8];         /* "ATTNST04" */
    uint64_t hash;         /* hash of everything after this member */
    int64_t bytes;         /* size of the complete state */
    uint64_t model;        /* hash of the model's sizes, spec and weights */
    int64_t format;        /* of the caches' elements, e.g. ATTN_CACHE_F32 */
    int64_t tokens, lead, read, source_rows; /* members with these names in the
                                              * stream; rows of the source */
    /* The rest: int32_t tokens[]; the pages of each self cache, then of
     * each cross cache, from the first page that a later row may read; the
     * states of recurrent layers. */
};

#endif
