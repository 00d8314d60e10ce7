/* sweep_draw.h: what the files that draw a sweep share: scales of values, and
 * labels that do not overlap. */
#ifndef ATTNC_SWEEP_DRAW_H
#define ATTNC_SWEEP_DRAW_H

#include "sweep/sweep_parts.h"

/* ---- draw_scale.c ---- */
typedef struct {
    ColumnKind kind;
    double least, most; /* of the values; most < least: there are none */
    bool logarithmic;
    double from, to;  /* of the plot; decimal logarithms where logarithmic */
    double unit;      /* of the texts, in SI units */
    const char *word; /* of it: "ms"; "": none */
} Scale;

Scale scale_new(ColumnKind kind);
void scale_widen(Scale *s, double value);
/* Finds the rest from the values: logarithmic where it was said to be, or where
 * they are all positive and over a factor of 20; `zero`: a linear one of
 * positive values may begin there.                                          */
void scale_end(Scale *s, bool zero);
/* 0 at the begin of the plot, 1 at its end. */
double scale_part(const Scale *s, double value);
/* Round values on it, about `about` of them where it is linear. */
enum { MostTicks = 32 };
int scale_ticks(const Scale *s, int about, double tick[MostTicks]);
/* In its unit, without its word; `digits` of it. */
const char *scale_text(Arena *a, const Scale *s, double value, int digits);

/* ---- draw_label.c ---- */
typedef struct {
    double x, y, w, h; /* x, y: left, top */
} Box;

typedef struct { /* one plot */
    Arena *arena;
    Box inside;     /* where labels may be */
    VEC(Box) taken; /* by marks, lines and labels */
} Labels;

typedef struct {
    Box box;
    bool lead; /* a line from the mark says whose it is */
    double lead_x, lead_y;
} LabelPlace;

enum { LabelSize = 10 }; /* of letters, in pixels */
void labels_take(Labels *l, double x, double y, double radius);
void labels_take_line(Labels *l, double x0, double y0, double x1, double y1);
/* The place of a text for a mark there, which is taken from then on. False:
 * there is none. `far`: it may have a lead.                                  */
bool labels_place(Labels *l, double x, double y, const char *text, bool far,
                  LabelPlace *to);

/* Text that is safe, of at most so many letters, then dots. */
const char *label_cut(Arena *a, const char *text, int most);

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
ColumnKind measure_kind(const Measure *m);
/* Of its variant, and of its spec where there are several. */
const char *row_name(const Sweep *s, Arena *a, const Row *r);
/* What tells a panel of lines over the axis from the others. */
const char *panel_name(const Sweep *s, Arena *a, int axis, const Row *r);
/* Have they all but the axis alike? */
bool same_panel(const Sweep *s, int axis, const Row *x, const Row *y);

#endif
