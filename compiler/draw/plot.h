/* plot.h: plots: a scale for each axis, a grid with texts, and labels that do
 * not overlap. */
#ifndef ATTNC_PLOT_H
#define ATTNC_PLOT_H

#include "draw/svg.h"

/* ---- plot_scale.c ---- */
typedef enum {
    UnitCount, /* an integer */
    UnitFlops,
    UnitBytes,
    UnitSeconds,
    UnitRate,  /* a number per second */
    UnitPart,  /* a fraction, shown in percent */
    UnitPower, /* an exponent */
    UnitWord
} UnitKind;

typedef struct {
    UnitKind kind;
    double least, most; /* range of the values; most < least: no values */
    bool logarithmic;
    double from, to;  /* range of the plot; log10 of it if logarithmic */
    double unit;      /* unit of the texts, in SI units */
    const char *word; /* name of the unit, e.g. "ms"; "": none */
} Scale;

Scale scale_new(UnitKind kind);
void scale_widen(Scale *s, double value);
/* Sets the other members from the range of the values. The scale is logarithmic
 * if all values are positive and their ratio exceeds 20. If `zero` is set, a
 * linear scale of positive values may begin at 0. */
void scale_end(Scale *s, bool zero);
/* Returns the place of a value, from 0 at the beginning of the plot to 1 at its
 * end. */
double scale_part(const Scale *s, double value);
/* Finds round values for the grid, on a linear scale about `about` of them.
 * Returns their number. */
enum { MostTicks = 32 };
int scale_ticks(const Scale *s, int about, double tick[MostTicks]);
/* Returns a value in the scale's unit, with `digits` digits, without the
 * unit. */
const char *scale_text(Arena *a, const Scale *s, double value, int digits);

/* ---- plot_label.c ---- */
typedef struct { /* the labels of one plot */
    Arena *arena;
    Area inside;     /* area in which labels may be placed */
    VEC(Area) taken; /* areas of marks, lines and labels */
} Labels;

typedef struct {
    Area box;
    bool lead; /* a line connects it to its mark */
    Point lead_to;
} LabelPlace;

enum { LabelSize = 10 }; /* font size in pixels */
void labels_take(Labels *l, Point at, double radius);
void labels_take_line(Labels *l, Point from, Point to);
typedef enum {
    LeadNone,   /* a label must be next to its mark */
    LeadFree,   /* a label may have a lead that crosses nothing */
    LeadCrosses /* a label may have a lead that crosses other things */
} LeadKind;
/* Finds and takes a place for the text of a mark. Returns false if there is
 * none. */
bool labels_place(Labels *l, Point at, const char *text, LeadKind leads,
                  LabelPlace *to);
/* Returns the text with control bytes escaped. If it is longer than `most`
 * characters, it is cut and ends with an ellipsis. */
const char *label_cut(Arena *a, const char *text, int most);

/* ---- plot.c ---- */
extern const char plot_sheet[]; /* colours of marks and lines */

typedef struct {
    Buffer *out;
    Area at;
    Scale x, y;
    Labels labels; /* labels, in page coordinates */
} Plot;

Plot plot_new(Buffer *out, Area at, Scale x, Scale y);
Point plot_point(const Plot *p, double x, double y);
/* Draw the grid, at the given or at round values, with texts if there is room.
 * plot_edge() draws the frame. */
void plot_grid_x(const Plot *p, const double *tick, int n, bool texts);
void plot_grid_y(const Plot *p, int about, bool texts);
void plot_edge(const Plot *p);
/* Draws the names of the axes: below the plot, and at the left edge of the
 * page. NULL: no name. */
void plot_sides(const Plot *p, const char *x, const char *y);
/* Draws a label next to its mark, or with a line to it. Returns false if there
 * is no room. */
bool plot_label(Plot *p, const char *rules, Point at, const char *text,
                LeadKind leads);

#endif
