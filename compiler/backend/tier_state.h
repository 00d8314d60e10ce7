/* tier_state.h: the state of a model in two tiers, for tier.c and
 * tier_compare.c. */
#ifndef ATTNC_TIER_STATE_H
#define ATTNC_TIER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend/tier.h"

/* Kinds of calls, which take different paths in the emitted code. */
typedef enum { TierEncode, TierPrefill, TierStep, TierCalls } TierCall;

/* An arena for a call of the second tier, if it needs a larger one than the
 * first. Calls of several threads each have their own. */
typedef struct TierRoom TierRoom;
struct TierRoom {
    TierRoom *next;
    int64_t bytes; /* of the arena, which lies ATTN_ALIGN bytes after this */
};

struct Tier {
    struct attn_model model; /* the model that callers see */
    Tier *self;              /* address of the tier, passed as `bound` */
    Arena *arena;
    Backend first, second; /* second.model NULL: not loaded */
    const void *packed;
    TierGuard *guard;
    int64_t owner;            /* process that opened the model */
    _Atomic(void *) bound[2]; /* each model's `bound`; NULL: not callable, or
                               * rejected */
    _Atomic bool checked[TierCalls];
    _Atomic int64_t calls;
    pthread_mutex_t lock;          /* of `rooms` */
    TierRoom *rooms;               /* those that no call uses */
    _Atomic bool waits;            /* look() has something to do */
    _Atomic(const char *) refused; /* the reason, to be recorded; NULL: none */
    Background background;
    CacheKey note, key;
    _Atomic bool is_wrong; /* the object's bits differ, as this or an earlier
                            * run found */
    const char *compiler, *symbol, *about;
    double begin; /* time of loading, in seconds */
    bool verbose;
};

/* Stored instead of an object's key if its bits were wrong. */
extern const char tier_differs[];

/* ---- tier_compare.c ---- */

/* Makes the call with the first (0) or second (1) tier. Returns false if there
 * is no memory for the second; then nothing was computed. */
bool tier_run(Tier *t, int which, bool decodes, const struct attn_batch *b,
              void *arena);
/* Makes the call with both tiers; its results are those of the first. Returns
 * false if the second's results differ, and sets *differs to a reason to reject
 * it, or if there is no memory to compare: then *differs is NULL. */
bool tier_agree(Tier *t, bool decodes, const struct attn_batch *b, void *arena,
                const char **differs);
/* Records, inside the guard, that the object is rejected for this and later
 * runs, and keeps a copy for a bug report. */
void tier_record_refusal(Tier *t, const char *reason);
void tier_free_rooms(Tier *t);

#endif
