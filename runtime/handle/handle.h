/* handle.h: a model that is open: weights, memory and threads behind one
 * pointer, for one call at a time.                                          */
#ifndef ATTN_HANDLE_1
#define ATTN_HANDLE_1

#include "runtime/base/batch.h"

struct attn_handle; /* of one thread at a time; open another for another */

struct attn_open_options { /* all 0: as the model and its spec say */
    int64_t threads;       /* 0: 1. More are there where the C file was
                              compiled with -DATTNC_THREADS -pthread */
    const struct attn_parallel *parallel; /* your own, in place of those */
    int64_t max_input;  /* tokens or rows of an input; 0: the model's most */
    int64_t max_output; /* tokens of an answer; 0: the model's most */
    int64_t max_text;   /* bytes of a text; 0: 16 for each such token */
    int64_t beam;       /* of the widest search; 0: the spec's */
    int64_t unchecked;  /* 1: weights are not held to their hash, so that
                           they come from the disk as they are used */
};

/* What an answer is given to as it grows; not 0: it ends there. The text is not
 * NUL-terminated, and is there during the call alone.                       */
typedef int attn_take_text(void *user, const char *text, int64_t bytes);
typedef int attn_take_id(void *user, int32_t id);

#endif
