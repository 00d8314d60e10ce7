/* svg_page.h: a page that the pictures of a graph and of an arena stand on: its
 * head, its rules, the colours of the classes of ops.                       */
#ifndef ATTNC_SVG_PAGE_H
#define ATTNC_SVG_PAGE_H

#include "draw/svg.h"
#include "graph/graph.h"

static const double box_text = 11, soft_text = 9; /* sizes of letters */
static const double page_edge = 18;               /* pixels around all */

/* Of an op's class its rule, "row", and what the colour says, "row by row". */
const char *class_rule(OpClass op_class);
const char *class_meaning(OpClass op_class);

typedef struct {
    const char *name, *what;  /* "base", "the graph" */
    const char *text;         /* under the name */
    const char *light, *dark; /* rules of this picture alone */
    double width, height;
} PageHead;
/* As wide as its texts are, in pixels. */
double page_width(const PageHead *head);
void page_begin(Buffer *out, const PageHead *head);
/* rule: "b", "soft" */
void page_text(Buffer *out, double x, double y, const char *rule, double size,
               const char *text);

typedef struct { /* signs and words in lines */
    Buffer *out;
    double left, right; /* of a line */
    double x, y;        /* of the next sign; y of its words' foot */
} Legend;
/* `sign`: its drawing at 0 0, which is the words' foot; "": none. */
void legend_add(Legend *l, const char *sign, const char *text);
void legend_line(Legend *l); /* a new one begins */
void legend_class(Legend *l, OpClass op_class);

#endif
