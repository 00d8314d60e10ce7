/* sweep_draw.h: selects and reads the numbers in the picture of a sweep. */
#ifndef ATTNC_SWEEP_DRAW_H
#define ATTNC_SWEEP_DRAW_H

#include "sweep/sweep_parts.h"

/* ---- draw_axes.c ---- */
typedef struct { /* a quantity on one side of the plot */
    const char *name;
    int axis;                      /* index of a sweep's axis; -1: a column */
    const SweepColumn *c;          /* the column; NULL: there is none */
    const SweepColumn *low, *high; /* columns with the ends of the interval; or
                                      NULL */
} Measure;

typedef struct {
    Measure x, y;
    bool lines; /* true: lines over x, which is an axis; false: scatter plot */
} View;

/* Selects the view according to --axes or, without it, to the varied axes. */
View view_choose(const Sweep *s);
double measure_get(const Measure *m, const Row *r); /* returns NAN if the row
                                                     * has no value */
UnitKind measure_kind(const Measure *m);
/* Returns the name of the variant, with its spec if there are several. */
const char *row_name(const Sweep *s, Arena *a, const Row *r);
/* Returns the title of the panel to which the row belongs in a plot of lines
 * over the axis. */
const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r);
/* True if the rows are equal except perhaps in the axis. */
bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y);

#endif
