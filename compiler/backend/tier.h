/* tier.h: a model in two tiers. libtcc's code runs at once; meanwhile a C
 * compiler works in a separate process. Its object replaces libtcc's code
 * between two calls of the model, after it has produced identical bits for one
 * call. */
#ifndef ATTNC_TIER_H
#define ATTNC_TIER_H

#include "backend/backend.h"

/* ---- background.c ---- */

/* A process that compiles a text into the cache. It continues if this process
 * ends, so that the next run finds the object. */
typedef struct {
    int fd; /* reports the result; -1: already reported, or not started */
    int64_t pid;
} Background;
typedef struct {
    /* Called in the compiling process: sets the text and how to compile it.
     * *about receives a remark about the text for the user. */
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;
    CacheKey note; /* cache entry that receives the object's key */
} BackgroundWork;
/* Returns false, with *why, if the process cannot be started. */
bool background_start(Background *b, const BackgroundWork *w, Fault *why);

typedef enum {
    BackgroundWorks,
    BackgroundDone,
    BackgroundFailed
} BackgroundEnd;
/* Returns the state without waiting: done, with the object's key and the
 * remark; or failed, with *why. */
BackgroundEnd background_poll(Background *b, Arena *a, CacheKey *key,
                              const char **about, Fault *why);
/* Closes the connection; the process continues on its own. */
void background_leave(Background *b);

/* ---- tier.c ---- */
typedef struct {
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;           /* only used until the process is forked */
    const char *compiler; /* path of the C compiler */
    const char *level;
    const char *records; /* a file that also affects the text; NULL */
    bool verbose, perf;  /* perf: as in BackendOptions */
} TierOptions;
/* Loads the object from the cache if an earlier run left one; otherwise
 * libtcc's code for `p`, and starts the compiler. *arena must outlive the
 * model. */
bool tier_load(Backend *b, Arena *arena, const Plan *p, const TierOptions *o,
               Fault *why);
void *tier_bind(Tier *t, const void *packed);
void tier_close(Tier *t);

#endif
