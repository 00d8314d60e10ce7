/* tier.h: a model in two tiers. libtcc's code runs at once; a C compiler works
 * meanwhile in a process of its own, and its object is taken over between two
 * calls of the model, once it has shown the same bits on what runs.          */
#ifndef ATTNC_TIER_H
#define ATTNC_TIER_H

#include "backend/backend.h"

/* ---- background.c ---- */

/* A process that compiles a text into the cache. It goes on where this one
 * ends, so that the next run finds the object.                               */
typedef struct {
    int fd; /* where it says what came of it; -1: it has, or there is none */
    int64_t pid;
} Background;
typedef struct {
    /* What is compiled, and by what: called in that process. `about` gets what
     * is to be known of the text, for people.                                */
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;
    CacheKey note; /* the entry that gets the object's key */
} BackgroundWork;
/* False, with *why: the system starts none. */
bool background_start(Background *b, const BackgroundWork *w, Fault *why);

typedef enum {
    BackgroundWorks,
    BackgroundDone,
    BackgroundFailed
} BackgroundEnd;
/* What came of it by now: done, with the object's key and what was to be known;
 * or failed, with *why. Does not wait.                                       */
BackgroundEnd background_poll(Background *b, Arena *a, CacheKey *key,
                              const char **about, Fault *why);
/* It goes on by itself. */
void background_leave(Background *b);

/* ---- tier.c ---- */
typedef struct {
    bool (*text)(void *with, Arena *a, ObjectText *to, const char **about,
                 Fault *why);
    void *with;           /* until the process is there */
    const char *compiler; /* path of the C compiler */
    const char *level;
    const char *records; /* a file that decides the text too; NULL */
    bool verbose, perf;  /* perf: as of BackendOptions */
} TierOptions;
/* The object from the cache, where an earlier run left it; else libtcc's code
 * of `p`, and a compiler that works. *arena must outlive the model. */
bool tier_load(Backend *b, Arena *arena, const Plan *p, const TierOptions *o,
               Fault *why);
void *tier_bind(Tier *t, const void *packed);
void tier_close(Tier *t);

#endif
