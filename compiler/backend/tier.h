/* tier.h: a model in two tiers. libtcc's code runs at once, while a C compiler
 * works in a separate process. Between two calls of the model, the compiler's
 * object replaces libtcc's code, after it has produced identical bits for one
 * call.
 *
 * Threads: if there is a guard, any number of threads may call the model. The
 * object is loaded inside the guard. Each thread compares its own first call of
 * a kind, unless another one has; the results are only of that call. */
#ifndef ATTNC_TIER_H
#define ATTNC_TIER_H

#include "backend/backend.h"

/* ---- background.c ---- */

/* A process that compiles a text into the cache. It continues after this
 * process ends, so that the next run finds the object. */
typedef struct {
    int fd; /* pipe that reports the result; -1: not started, or reported */
    int64_t pid;
} Background;
typedef struct {
    /* Called in the compiling process: sets the text and its compiler options.
     * *about receives a remark about the text that is shown to the user. */
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;
    CacheKey note; /* key of the cache entry that stores the object's key */
} BackgroundWork;
/* Starts the process. Returns false with *why on failure. */
bool background_start(Background *b, const BackgroundWork *w, Fault *why);

typedef enum {
    BackgroundWorks,
    BackgroundDone,
    BackgroundFailed
} BackgroundEnd;
/* Returns the state without waiting. If the compilation is done, sets the
 * object's key and the remark; if it failed, sets *why. */
BackgroundEnd background_poll(Background *b, Arena *a, CacheKey *key,
                              const char **about, Fault *why);
/* Waits for a process that has ended, so that no zombie stays. Returns false if
 * it still runs. */
bool background_reap(Background *b);
/* Closes the pipe; the process continues on its own. */
void background_leave(Background *b);
/* Ends the process and waits until it has ended, usually a few milliseconds. */
void background_stop(Background *b);

/* ---- tier.c ---- */
typedef struct {
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;           /* argument of text(); not used after the fork */
    const char *compiler; /* path of the C compiler */
    const char *level;
    const char *records; /* file of tuning records for the text; NULL: none */
    bool verbose, perf;  /* `perf`: as in BackendOptions */
    TierGuard *guard;    /* NULL: one thread calls the model */
} TierOptions;
/* Loads the object from the cache if an earlier run left one. Otherwise loads
 * libtcc's code for `p` and starts the compiler. *arena must outlive the
 * model. */
bool tier_load(Backend *b, Arena *arena, const Plan *p, const TierOptions *o,
               Fault *why);
void *tier_bind(Tier *t, const void *packed);
void tier_close(Tier *t);

#endif
