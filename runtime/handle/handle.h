/* handle.h: an open model: weights, memory and threads behind one pointer, for
 * one call at a time. */
#ifndef ATTN_HANDLE_2
#define ATTN_HANDLE_2

#include "runtime/base/batch.h"

struct attn_handle; /* used by one thread at a time; every thread can open its
                     * own */
struct attn_drafter;

struct attn_open_options { /* options; if all are 0, the limits are those of the
                            * model and its spec */
    int64_t threads;       /* number of threads; 0: 1. More than 1 needs a C
                            * file compiled with -DATTNC_THREADS -pthread */
    const struct attn_parallel *parallel; /* the caller's threads, used instead
                                           * of `threads` */
    int64_t max_input;  /* maximum tokens or rows of inputs; 0: the model's */
    int64_t max_output; /* maximum tokens of an answer; 0: the model's limit */
    int64_t max_text;   /* maximum bytes of a text; 0: 16 per token */
    int64_t beam;       /* maximum beam of a search; 0: the spec's beam */
    int64_t draft;      /* of the answers that grow, such as ATTN_DRAFT_NGRAM;
                         * used instead of that of the search options */
    const struct attn_drafter *drafter; /* for ATTN_DRAFT_MODEL; its handle
                                         * has to stay open */
    const char *grammar; /* answers follow this grammar, in GBNF; search options
                          * with a process.constrain use that instead; NULL:
                          * none */
    int64_t chat;      /* maximum tokens of a conversation, at most the model's
                        * max_len; 0: the handle has none */
    int64_t unchecked; /* 1: do not compare the weights with their hash, so
                        * that they are read from disk only when they are first
                        * used */
    /* requests, in models that generate */
    int64_t batch;   /* maximum requests answered at the same time; 0: none are
                      * taken */
    int64_t waiting; /* maximum requests held beyond those; an encoder-decoder
                      * holds no more than `batch` new ones */
    int64_t prompt_rows;  /* maximum rows of prompts between two tokens of the
                           * others; a source of an encoder is never divided;
                           * 0: no limit */
    int64_t cache;        /* bytes for keys and values of the answers; 0: what
                           * the longest answers need */
    int64_t prefix_cache; /* further bytes, for prompts that were read and with
                           * which others may begin; 0: none are kept */
};

struct attn_event { /* what has become of a request */
    int64_t id;     /* its number */
    int64_t ended;  /* 1: the answer is complete, and the number is free */
    int64_t n; /* tokens of the answer so far; 0 also if there is no answer;
                * ATTN_ERROR_FINITE if logits were not finite,
                * ATTN_ERROR_GRAMMAR if no token could follow */
    const int32_t *tokens; /* valid until the next call that adds a request or
                            * works on them */
};

struct attn_text_options { /* options of a text; all 0: no task, and the spec's
                            * default prompt, if it has one */
    int64_t task;          /* in late interaction: ATTN_TASK_QUERY or
                            * ATTN_TASK_DOCUMENT; ATTN_TASK_NONE: neither */
    const char *prompt;    /* name of the spec's prompt that precedes the text;
                            * NULL: "query" or "document" as the task says, or
                            * the default one; "": no prompt */
};

/* Receives the text of an answer as it grows. Any return value but 0 ends the
 * answer. The text does not end in NUL and is valid only during the call. */
typedef int attn_take_text(void *user, const char *text, int64_t bytes);
typedef int attn_take_id(void *user, int32_t id);

#endif
