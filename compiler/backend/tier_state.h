/* tier_state.h: the state of a model in two tiers, for tier.c and
 * tier_compare.c. */
#ifndef ATTNC_TIER_STATE_H
#define ATTNC_TIER_STATE_H

#include "backend/tier.h"

/* Kinds of calls, which take different paths in the emitted code. */
typedef enum { TierEncode, TierPrefill, TierStep, TierCalls } TierCall;

struct Tier {
    struct attn_model model; /* the model that callers see */
    Tier *self;              /* address of the tier, passed as `bound` */
    Arena *arena;
    Backend first, second; /* second.model NULL: not loaded */
    const void *packed;
    void *bound[2]; /* each model's `bound`; NULL: not callable, or rejected */
    bool checked[TierCalls];
    int64_t calls;
    void *room; /* arena for the second tier, if it needs a larger one */
    int64_t room_bytes;
    Background background;
    CacheKey note, key;
    bool is_wrong; /* an earlier run found that the object's bits differ */
    const char *compiler, *symbol, *about;
    double begin; /* time of loading, in seconds */
    bool verbose;
};

/* Stored instead of an object's key if its bits were wrong. */
extern const char tier_differs[];

/* ---- tier_compare.c ---- */

/* Makes the call with the first (0) or second (1) tier. */
void tier_run(Tier *t, int which, bool decodes, const struct attn_batch *b,
              void *arena);
/* Makes the call with both tiers; its results are those of the first. Returns
 * false if the second's results differ, which rejects it, or if there is no
 * memory to compare. */
bool tier_agree(Tier *t, bool decodes, const struct attn_batch *b, void *arena);
/* Rejects the object for this and later runs, but keeps a copy for a bug
 * report. */
void tier_refuse(Tier *t, const char *reason);

#endif
