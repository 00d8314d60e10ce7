/* svg.h: the common parts of pictures: page, header, colours, text, marks and
 * legend.
 *
 * Colours follow the reader's light or dark mode. A sheet is CSS in which a
 * colour may have two values, as in `#fff|#16181c`: the first for light mode,
 * the second for dark mode. */
#ifndef ATTNC_SVG_H
#define ATTNC_SVG_H

#include "graph/graph.h"

static const double box_text = 11, soft_text = 9; /* font sizes in pixels */
static const double page_edge = 18; /* margin of the page in pixels */

typedef struct { /* in pixels; x, y: the upper left corner */
    double x, y, w, h;
} Area;
typedef struct {
    double x, y;
} Point;

/* Adds text, escaped for XML. Invalid bytes become \xHH. */
void svg_add(Buffer *b, const char *text);
/* Adds a line of text. `rules` are CSS classes: "b" (bold), "soft", "small"
 * (size soft_text), "mid" or "end" (x is the middle or the right end), and the
 * classes of the picture's own sheet. */
void svg_text(Buffer *b, const char *rules, double x, double y, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));
/* Adds two texts on one line, the first bold, the second soft and small. */
void svg_words(Buffer *b, const char *rules, double x, double y,
               const char *bold, const char *soft);
/* Adds the name of a vertical axis, rotated and centred at x, y. */
void svg_side(Buffer *b, double x, double y, const char *text);
/* Adds a tooltip to the enclosing element. */
void svg_tip(Buffer *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void svg_rect(Buffer *b, const char *rules, Area at, double radius);
/* Adds a path through n points. `end` is "z" to close the path, or "". */
void svg_line(Buffer *b, const char *rules, const Point *at, int n,
              const char *end);
/* Returns an upper bound of the width of a text in pixels, in common fonts. */
double svg_width(const char *text, double size, bool bold);

typedef enum {
    MarkDot,
    MarkSquare,
    MarkDiamond,
    MarkTriangle,
    MarkRing,
    MarkCross
} Mark;
/* Adds a mark centred at `at`; at scale 1 it is 7 to 11 pixels wide. tip NULL:
 * no tooltip. */
void svg_mark(Buffer *b, const char *rules, Mark mark, double scale, Point at,
              const char *tip);

typedef struct {
    const char *name, *what; /* name of the model, e.g. "base"; content of the
                                picture, e.g. "the graph" */
    const char *text;        /* text below the name */
    const char *sheet;       /* sheet of the picture */
    double width, height;
} PageHead;
double page_width(const PageHead *head); /* returns the width that the texts
                                            of the head need */
void page_begin(Buffer *out, const PageHead *head);
const char *page_end(Buffer *out); /* returns the picture */

typedef struct { /* a legend: signs with their texts, broken into lines */
    Buffer *out;
    double left, right; /* left and right end of a line */
    double x, y;        /* position of the next sign; y is the baseline of the
                           text */
} Legend;
/* Adds a sign and its text. `sign` is SVG, drawn with the text's baseline at 0,
 * 0; "": no sign. */
void legend_add(Legend *l, const char *sign, const char *text);
void legend_mark(Legend *l, const char *rules, Mark mark, const char *text);
void legend_line(Legend *l); /* begins a new line */

/* The colours of op classes: a sheet, the CSS class of an op class ("row"), and
 * its entry in a legend ("row by row"). */
extern const char class_sheet[];
const char *class_rule(OpClass op_class);
void legend_class(Legend *l, OpClass op_class);

#endif
