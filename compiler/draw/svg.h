/* svg.h: the page of a picture: its head and colours, text, marks, a legend.
 *
 * Colours follow the reader's light or dark. A sheet is CSS in which a colour
 * may have two values, `#fff|#16181c`: on a light ground, and on a dark one. */
#ifndef ATTNC_SVG_H
#define ATTNC_SVG_H

#include "graph/graph.h"

static const double box_text = 11, soft_text = 9; /* pixels: sizes of letters */
static const double page_edge = 18;               /* pixels around all */

typedef struct { /* pixels; x, y: left, top */
    double x, y, w, h;
} Area;
typedef struct {
    double x, y;
} Point;

/* Adds text that is escaped for XML; bytes that are no text become \xHH. */
void svg_add(Buffer *b, const char *text);
/* Adds a line of text. `rules` are classes: "b" bold, "soft", "small" of
 * soft_text, "mid" or "end" where x is not the left end, and those of the
 * picture's own sheet.                                                       */
void svg_text(Buffer *b, const char *rules, double x, double y, const char *fmt,
              ...) __attribute__((format(printf, 5, 6)));
/* Adds a line of two texts, the one bold, the other soft and small. */
void svg_words(Buffer *b, const char *rules, double x, double y,
               const char *bold, const char *soft);
/* Adds the name of a vertical side, turned, its middle there. */
void svg_side(Buffer *b, double x, double y, const char *text);
/* Adds the title that a reader sees who points at the element around it. */
void svg_tip(Buffer *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void svg_rect(Buffer *b, const char *rules, Area at, double radius);
/* Adds a path over n points; "z" as `end` closes it. */
void svg_line(Buffer *b, const char *rules, const Point *at, int n,
              const char *end);
/* Returns a width in pixels that text of `size` does not exceed: no common
 * font's letters are wider than those that are counted.                      */
double svg_width(const char *text, double size, bool bold);

typedef enum {
    MarkDot,
    MarkSquare,
    MarkDiamond,
    MarkTriangle,
    MarkRing,
    MarkCross
} Mark;
/* Adds a mark, 7 to 11 pixels wide at scale 1, its middle there. tip NULL:
 * none.
 */
void svg_mark(Buffer *b, const char *rules, Mark mark, double scale, Point at,
              const char *tip);

typedef struct {
    const char *name, *what; /* "base", "the graph" */
    const char *text;        /* under the name */
    const char *sheet;       /* the picture's own */
    double width, height;
} PageHead;
double page_width(const PageHead *head); /* that its texts need */
void page_begin(Buffer *out, const PageHead *head);
const char *page_end(Buffer *out); /* returns the picture */

typedef struct { /* signs and words in lines */
    Buffer *out;
    double left, right; /* of a line */
    double x, y;        /* of the next sign; y of the words' foot */
} Legend;
/* `sign`: its drawing at 0 0, which is the words' foot; "": none. */
void legend_add(Legend *l, const char *sign, const char *text);
void legend_mark(Legend *l, const char *rules, Mark mark, const char *text);
void legend_line(Legend *l); /* begins a new line */

/* The colours of the classes of ops: a sheet, the rule of one, "row", and its
 * line in a legend, "row by row".                                            */
extern const char class_sheet[];
const char *class_rule(OpClass op_class);
void legend_class(Legend *l, OpClass op_class);

#endif
