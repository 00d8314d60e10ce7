/* hunt.h: the search for one task, which may go on later: its candidates
 * (candidates.c), their times (search.c).                                   */
#ifndef ATTNC_TUNE_HUNT_H
#define ATTNC_TUNE_HUNT_H

#include "tune/parts.h"

struct Hunt {
    Tuner *t;
    TuneTask *task;
    Model model;
    Arena *a;
    bool whole;             /* each candidate is a whole model */
    Mades made;             /* by candidate; no text: not compiled */
    VEC(Times) time, ratio; /* by candidate: seconds; default / own */
    ChildWork work;
    double begin, until; /* of this turn */
    double each;         /* seconds of a run, with its part of loading
                            and checking */
    int rounds;
    int best;    /* the fastest that runs beside the default; 0:
                    none does */
    bool heated; /* tune_heats() ranked them, or need not */
    bool failed; /* the default itself does not run */
};

#define HuntDeciding 0.25        /* of a turn's time: for fresh pairs */
/* Of the turn: seconds until a part of its time is left. */
double hunt_left(const Hunt *h, double part);
Candidate *hunt_at(const Hunt *h, int i);

/* -------------------------------------------------------- candidates.c --- */
/* The default, and the space; where an earlier search by libtcc ran them, in
 * the order that it found.                                                   */
void hunt_candidates(Hunt *h);
/* who[n ..]: those that should be tried next, compiled; who[0] is the default,
 * who[1] may be the fastest so far. Returns how many are in who[].           */
int hunt_next(Hunt *h, int *who, int n);
int hunt_around(Hunt *h, int *who, int n, int centre);
int hunt_untried(const Hunt *h); /* how many */
/* Were so many tried that the best of them is worth a record? */
bool hunt_covered(const Hunt *h);

#endif
