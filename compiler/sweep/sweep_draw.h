/* sweep_draw.h: chooses and reads the numbers that a picture of a sweep
 * shows. */
#ifndef ATTNC_SWEEP_DRAW_H
#define ATTNC_SWEEP_DRAW_H

#include "sweep/sweep_parts.h"

/* ---- draw_axes.c ---- */
typedef struct { /* a quantity along one side of the plot */
    const char *name;
    int axis;                      /* index of a sweep's axis; -1: a column */
    const SweepColumn *c;          /* the column; NULL: there is none */
    const SweepColumn *low, *high; /* columns with the ends of the interval; or
                                      NULL */
} Measure;

typedef struct {
    Measure x, y;
    bool lines; /* draw lines over x, which is an axis; false: a scatter plot */
} View;

/* Chooses the view by --axes or, without it, by the varied axes. */
View view_choose(const Sweep *s);
double measure_get(const Measure *m, const Row *r); /* returns NAN if the row
                                                     * has no value */
UnitKind measure_kind(const Measure *m);
/* Returns the name of the variant. Includes the spec if there are several. */
const char *row_name(const Sweep *s, Arena *a, const Row *r);
/* Returns the title of the panel that has the row in a plot of lines over the
 * axis. */
const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r);
/* True if the rows differ in nothing but perhaps the axis. */
bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y);

#endif
