/* sweep_draw.h: the numbers that a picture of a sweep shows. */
#ifndef ATTNC_SWEEP_DRAW_H
#define ATTNC_SWEEP_DRAW_H

#include "sweep/sweep_parts.h"

/* ---- draw_axes.c ---- */
typedef struct { /* what a side shows of a row */
    const char *name;
    int axis;                      /* of the sweep; -1: the column */
    const SweepColumn *c;          /* NULL: none was found */
    const SweepColumn *low, *high; /* the ends of its interval; or NULL */
} Measure;

typedef struct {
    Measure x, y;
    bool lines; /* over x, which is an axis; else a scatter */
} View;

/* As --axes says, else by what is varied. */
View view_choose(const Sweep *s);
double measure_get(const Measure *m, const Row *r); /* NAN: none */
UnitKind measure_kind(const Measure *m);
/* Of its variant, and of its spec where there are several. */
const char *row_name(const Sweep *s, Arena *a, const Row *r);
/* What tells a panel of lines over the axis from the others. */
const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r);
/* Have they all but the axis alike? */
bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y);

#endif
