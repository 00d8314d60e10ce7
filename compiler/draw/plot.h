/* plot.h: a plot: a scale for each side, its grid and texts, labels that do not
 * overlap.                                                                   */
#ifndef ATTNC_PLOT_H
#define ATTNC_PLOT_H

#include "draw/svg.h"

/* ---- plot_scale.c ---- */
typedef enum {
    UnitCount, /* a whole number */
    UnitFlops,
    UnitBytes,
    UnitSeconds,
    UnitRate,  /* a second */
    UnitPart,  /* shown as percent */
    UnitPower, /* an exponent */
    UnitWord
} UnitKind;

typedef struct {
    UnitKind kind;
    double least, most; /* of the values; most < least: there are none */
    bool logarithmic;
    double from, to;  /* of the plot; decimal logarithms where logarithmic */
    double unit;      /* of the texts, in SI units */
    const char *word; /* of it: "ms"; "": none */
} Scale;

Scale scale_new(UnitKind kind);
void scale_widen(Scale *s, double value);
/* Finds the rest from the values. The scale becomes logarithmic if the values
 * are all positive and over a factor of 20; if `zero`, a linear one of positive
 * values may begin there.                                                    */
void scale_end(Scale *s, bool zero);
/* Returns 0 at the begin of the plot, 1 at its end. */
double scale_part(const Scale *s, double value);
/* Finds round values, about `about` of them if the scale is linear. */
enum { MostTicks = 32 };
int scale_ticks(const Scale *s, int about, double tick[MostTicks]);
/* In its unit, without its word; `digits` of it. */
const char *scale_text(Arena *a, const Scale *s, double value, int digits);

/* ---- plot_label.c ---- */
typedef struct { /* of one plot */
    Arena *arena;
    Area inside;     /* where labels may be */
    VEC(Area) taken; /* by marks, lines and labels */
} Labels;

typedef struct {
    Area box;
    bool lead; /* a line from the mark says whose it is */
    Point lead_to;
} LabelPlace;

enum { LabelSize = 10 }; /* pixels: of letters */
void labels_take(Labels *l, Point at, double radius);
void labels_take_line(Labels *l, Point from, Point to);
typedef enum {
    LeadNone,   /* labels are beside their marks */
    LeadFree,   /* a lead crosses nothing */
    LeadCrosses /* if need be, a lead crosses others */
} LeadKind;
/* Finds a place for the text of a mark, which is taken from then on. False:
 * there is none.                                                             */
bool labels_place(Labels *l, Point at, const char *text, LeadKind leads,
                  LabelPlace *to);
/* Returns text that is safe, of at most so many letters, then dots. */
const char *label_cut(Arena *a, const char *text, int most);

/* ---- plot.c ---- */
extern const char plot_sheet[]; /* colours of marks and lines */

typedef struct {
    Buffer *out;
    Area at;
    Scale x, y;
    Labels labels; /* places are those of the page */
} Plot;

Plot plot_new(Buffer *out, Area at, Scale x, Scale y);
Point plot_point(const Plot *p, double x, double y);
/* Draws the grid at these values, with their texts below where there is room
 * for them, or to the left; then the edge.                                   */
void plot_grid_x(const Plot *p, const double *tick, int n, bool texts);
void plot_grid_y(const Plot *p, int about, bool texts);
void plot_edge(const Plot *p);
/* Names the sides, below and at the left end of the page. NULL: not that one.
 */
void plot_sides(const Plot *p, const char *x, const char *y);
/* Writes a label beside its mark, or with a lead to it. False: no room. */
bool plot_label(Plot *p, const char *rules, Point at, const char *text,
                LeadKind leads);

#endif
