/* tier_state.h: a model in two tiers, for the files that run and compare it. */
#ifndef ATTNC_TIER_STATE_H
#define ATTNC_TIER_STATE_H

#include "backend/tier.h"

/* Calls that go different ways in the emitted code. */
typedef enum { TierEncode, TierPrefill, TierStep, TierCalls } TierCall;

struct Tier {
    struct attn_model model; /* what callers see */
    Tier *self;              /* its bound weights */
    Arena *arena;
    Backend first, second; /* second.model NULL: not yet, or refused */
    const void *packed;
    void *bound[2]; /* of each; NULL: it cannot be called */
    bool checked[TierCalls];
    int64_t calls;
    void *room; /* an arena for the second, where it needs more */
    int64_t room_bytes;
    Background background;
    CacheKey note, key;
    bool is_wrong; /* an earlier run found that the object's bits differ */
    const char *compiler, *symbol, *about;
    double begin; /* seconds */
    bool verbose;
};

/* What stands in the place of an object's key where its bits were wrong. */
extern const char tier_differs[];

/* ---- tier_compare.c ---- */

/* The call, by the first (0) or the second. */
void tier_run(Tier *t, int which, bool decodes, const struct attn_batch *b,
              void *arena);
/* The call by both; its results are those of the first. False: those of the
 * second are others, and it is refused; or there is no memory to compare.    */
bool tier_agree(Tier *t, bool decodes, const struct attn_batch *b, void *arena);
/* The object is kept for a report, and used no more, here or in later runs. */
void tier_refuse(Tier *t, const char *reason);

#endif
