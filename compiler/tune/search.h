/* search.h: the search for one task, which may go on later: its candidates
 * (candidates.c), their times (search.c).                                   */
#ifndef ATTNC_TUNE_SEARCH_H
#define ATTNC_TUNE_SEARCH_H

#include "tune/tuner.h"

struct TaskSearch {
    Tuner *t;
    TuneTask *task;
    CostModel model;
    Arena *a;
    bool whole;             /* each candidate is a whole model */
    Codes code;             /* by candidate; no text: not compiled */
    VEC(Times) time, ratio; /* by candidate: seconds; default / own */
    ChildWork work;
    double begin, until; /* of this turn */
    double each;         /* seconds of a run, with its part of loading
                            and checking */
    int rounds;
    int best;         /* the fastest that runs beside the default; 0:
                         none does */
    bool prescreened; /* prescreen() ranked them, or need not */
    bool failed;      /* the default itself does not run */
};

#define DecidingPart 0.25        /* of a turn's time: for fresh pairs */
/* Of the turn: seconds until a part of its time is left. */
double search_left(const TaskSearch *h, double part);
Candidate *search_at(const TaskSearch *h, int i);

/* -------------------------------------------------------- candidates.c --- */
/* The default, and the space; where an earlier search by libtcc ran them, in
 * the order that it found.                                                   */
void search_candidates(TaskSearch *h);
/* who[n ..]: those that should be tried next, compiled; who[0] is the default,
 * who[1] may be the fastest so far. Returns how many are in who[].           */
int search_next(TaskSearch *h, int *who, int n);
int search_neighbours(TaskSearch *h, int *who, int n, int centre);
int search_untried(const TaskSearch *h); /* how many */
/* Were so many tried that the best of them is worth a record? */
bool search_covered(const TaskSearch *h);

#endif
