/* sweep_draw.h: the numbers in a picture of a sweep. */
#ifndef ATTNC_SWEEP_DRAW_H
#define ATTNC_SWEEP_DRAW_H

#include "sweep/sweep_parts.h"

/* ---- draw_axes.c ---- */
typedef struct { /* the quantity on one side of the plot */
    const char *name;
    int axis;                      /* axis of the sweep; -1: a column */
    const SweepColumn *c;          /* NULL: not found */
    const SweepColumn *low, *high; /* ends of its interval; or NULL */
} Measure;

typedef struct {
    Measure x, y;
    bool lines; /* lines over x, an axis; else a scatter */
} View;

/* Chooses the view by --axes or, without it, by what is varied. */
View view_choose(const Sweep *s);
double measure_get(const Measure *m, const Row *r); /* NAN: no value */
UnitKind measure_kind(const Measure *m);
/* Returns the name of the variant, with its spec if there are several. */
const char *row_name(const Sweep *s, Arena *a, const Row *r);
/* Returns the title of a panel of lines over the axis. */
const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r);
/* True if the variants differ at most in the axis. */
bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y);

#endif
