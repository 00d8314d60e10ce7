/* handle.h: an open model: weights, memory and threads behind one pointer, for
 * one call at a time. */
#ifndef ATTN_HANDLE_1
#define ATTN_HANDLE_1

#include "runtime/base/batch.h"

struct attn_handle; /* belongs to one thread at a time; open one per thread */

struct attn_open_options { /* all 0: the limits of the model and its spec */
    int64_t threads;       /* 0: 1. More need a C file compiled with
                            * -DATTNC_THREADS -pthread */
    const struct attn_parallel *parallel; /* your own threads instead */
    int64_t max_input;  /* tokens or rows of an input; 0: the model's limit */
    int64_t max_output; /* tokens of an answer; 0: the model's limit */
    int64_t max_text;   /* bytes of a text; 0: 16 per token */
    int64_t beam;       /* the widest search; 0: the spec's */
    int64_t unchecked;  /* 1: read weights from disk when they are first used,
                         * without comparing them with their hash */
};

/* Receives an answer as it grows; a return value other than 0 ends it. The text
 * is not NUL-terminated and is valid during the call only. */
typedef int attn_take_text(void *user, const char *text, int64_t bytes);
typedef int attn_take_id(void *user, int32_t id);

#endif
