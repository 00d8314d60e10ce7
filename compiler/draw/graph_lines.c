/* graph_lines.c: computes heights and then positions on the page: areas of
 * boxes, bands, frames and texts, and the points of lines. */
#include <math.h>

#include "draw/graph_picture.h"

/* pixels */
static const double leave_room = 15, /* above a box, for the value's shape */
    enter_room = 10,                 /* below a box, for the arrowhead */
    port_room = 13,                  /* below a box whose lines have names */
    track_step = 7, band_room = 4, band_head = 13, /* above the contents of a
                                                      band, with its name */
    frame_room = 7, frame_head = 18, gutter_room = 30, /* between columns */
    gutter_step = 8, small = 3; /* between text and line */

static Box *source(const Picture *p, const Net *n)
{
    return &p->box.at[n->source];
}

/* ---- gaps ---- */
typedef struct { /* contents of the gap under a row */
    bool shapes, names, ports;
    bool band_ends, frame_ends, band_begins, frame_begins;
} Gap;

static Gap gap_of(const Picture *p, int column, int rank)
{
    Gap g = { .shapes = rank > 0 };
    for (int i = 0; i < p->segment.n; i++) {
        const Segment *s = &p->segment.at[i];
        if (s->column != column || !s->banded)
            continue;
        g.band_ends |= s->rank[1] == rank - 1;
        g.band_begins |= s->rank[0] == rank;
    }
    for (int i = 0; i < p->run.n; i++) {
        const Run *r = &p->run.at[i];
        g.frame_ends |= r->column == column && r->rank[1] == rank - 1;
        g.frame_begins |= r->column == column && r->rank[0] == rank;
    }
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            const Sink *s = &p->net.at[i].sink.at[k];
            const Box *to = &p->box.at[s->box];
            g.ports |= *s->port && to->column == column && to->rank == rank;
        }
    return g;
}

/* Sets the height u of each row and of the tracks in the gap below it. */
static void stack_rows(Picture *p, int column)
{
    Column *c = &p->column[column];
    const size_t bytes = (size_t)(c->ranks + 1) * sizeof(double);
    c->u = arena_alloc(p->arena, bytes);
    c->h = arena_alloc(p->arena, bytes);
    c->gap = arena_alloc(p->arena, bytes);
    for (int i = 0; i < p->box.n; i++) {
        const Box *b = &p->box.at[i];
        if (b->column == column)
            c->h[b->rank] = fmax(c->h[b->rank], b->h);
    }
    double u = 0;
    for (int r = 0; r <= c->ranks; r++) {
        const Gap g = gap_of(p, column, r);
        u += g.shapes ? leave_room : 0;
        u += g.band_ends ? band_head : 0;
        u += g.frame_ends ? frame_head + frame_room : 0;
        u += g.frame_begins ? frame_room : 0;
        c->gap[r] = u;
        u += c->tracks[r] * track_step;
        u += g.band_begins ? band_room : 0;
        if (r < c->ranks && r > 0)
            u += g.ports ? port_room : enter_room;
        c->u[r] = u;
        u += c->h[r];
    }
    c->height = u;
}

/* ---- page ---- */
static double page_x(const Picture *p, int column, double x)
{
    return p->column[column].axis + x;
}

static double page_y(const Picture *p, double u)
{
    return p->height - u;
}

/* True if the net connects different columns. */
static bool crosses(const Picture *p, const Net *n)
{
    for (int k = 0; k < n->sink.n; k++)
        if (p->box.at[n->sink.at[k].box].column != p->box.at[n->source].column)
            return true;
    return false;
}

/* Places the vertical lines between columns, from the left edge of the gutter.
 * Returns the width that they need. */
static double place_crossings(Picture *p)
{
    double x = 0;
    for (int i = 0; i < p->net.n; i++)
        if (crosses(p, &p->net.at[i])) {
            p->net.at[i].gutter = x;
            x += gutter_step;
        }
    return x > 0 ? x - gutter_step : 0;
}

static void place_columns(Picture *p)
{
    const double more = place_crossings(p);
    double right = 0;
    for (int c = 0; c < p->columns; c++) {
        Column *column = &p->column[c];
        right += c ? gutter_room + more : 0;
        column->axis = right - column->extent[0];
        right += column->extent[1] - column->extent[0];
        p->height = fmax(p->height, column->height);
        if (c == 0)
            p->gutter = right + gutter_room / 2.0;
    }
    p->width = right;
}

static void place_areas(Picture *p)
{
    for (int i = 0; i < p->box.n; i++) {
        Box *b = &p->box.at[i];
        b->u = p->column[b->column].u[b->rank]
             + (p->column[b->column].h[b->rank] - b->h) / 2;
        b->area = (Area){ page_x(p, b->column, b->x - b->w / 2),
                          page_y(p, b->u + b->h), b->w, b->h };
    }
}

/* Returns the area that encloses all rows of a range, extended by `below` and
 * `above`. */
static Area around(const Picture *p, int column, const int rank[2], double left,
                   double right, double below, double above)
{
    const Column *c = &p->column[column];
    const double top = c->u[rank[1]] + c->h[rank[1]] + above;
    const double low = c->u[rank[0]] - below;
    return (Area){ page_x(p, column, left), page_y(p, top), right - left,
                   top - low };
}

static void place_frame_lines(Picture *p)
{
    for (int i = 0; i < p->segment.n; i++) {
        Segment *s = &p->segment.at[i];
        const Column *c = &p->column[s->column];
        if (!s->banded)
            continue;
        const double tracks = c->gap[s->rank[0]]
                            + c->tracks[s->rank[0]] * track_step;
        s->area = around(p, s->column, s->rank, s->left, s->right,
                         c->u[s->rank[0]] - tracks, leave_room + band_head - 2);
    }
    for (int i = 0; i < p->run.n; i++) {
        Run *r = &p->run.at[i];
        const Column *c = &p->column[r->column];
        const Gap g = gap_of(p, r->column, r->rank[1] + 1);
        r->area = around(p, r->column, r->rank, r->left, r->right,
                         c->u[r->rank[0]] - c->gap[r->rank[0]] + frame_room - 2,
                         leave_room + frame_head
                             + (g.band_ends ? band_head : 0));
    }
}

/* ---- lines ---- */
static double track_y(const Picture *p, int column, int rank, int net)
{
    const Column *c = &p->column[column];
    return page_y(p, c->gap[rank]
                         + (picture_track(p, column, rank, net) - 0.5)
                               * track_step);
}

static void add_point(Sink *s, double x, double y)
{
    const Point *last = s->points ? &s->point[s->points - 1] : NULL;
    if (last && fabs(last->x - x) < 0.01 && fabs(last->y - y) < 0.01)
        return;
    s->point[s->points++] = (Point){ x, y };
}

/* Leads a line along the net's track to another x. */
static void turn(const Picture *p, Sink *s, int column, int rank, int net,
                 double x)
{
    const double from = s->point[s->points - 1].x;
    if (fabs(from - x) < 0.01)
        return;
    const double y = track_y(p, column, rank, net);
    add_point(s, from, y);
    add_point(s, x, y);
}

static void draw_line(const Picture *p, int net, Sink *s)
{
    const Net *n = &p->net.at[net];
    const Box *from = source(p, n), *to = &p->box.at[s->box];
    const int a = from->column, b = to->column;
    add_point(s, page_x(p, a, n->x), page_y(p, from->u + from->h));
    if (a != b)
        turn(p, s, a, from->rank + 1, net, p->gutter + p->net.at[net].gutter);
    else if (to->rank > from->rank + 1)
        turn(p, s, a, from->rank + 1, net, page_x(p, a, n->lane));
    turn(p, s, b, to->rank, net, page_x(p, b, s->x));
    add_point(s, page_x(p, b, s->x), page_y(p, to->u));
    s->label.x = page_x(p, b, s->x) + 2 * small;
    s->label.y = page_y(p, to->u) + small;
}

static void draw_lines(Picture *p)
{
    for (int i = 0; i < p->net.n; i++) {
        Net *n = &p->net.at[i];
        const Box *from = source(p, n);
        n->label.x = page_x(p, from->column, n->x) + 2 * small;
        n->label.y = page_y(p, from->u + from->h) - small - n->label.h;
        for (int k = 0; k < n->sink.n; k++)
            draw_line(p, i, &n->sink.at[k]);
    }
}

/* ---- names ---- */
static bool apart(const Area *a, double x0, double y0, double x1, double y1)
{
    return fmax(x0, x1) < a->x - 1 || fmin(x0, x1) > a->x + a->w + 1
        || fmax(y0, y1) < a->y - 1 || fmin(y0, y1) > a->y + a->h + 1;
}

static bool crossed(const Picture *p, const Area *a)
{
    for (int i = 0; i < p->net.n; i++)
        for (int k = 0; k < p->net.at[i].sink.n; k++) {
            const Sink *s = &p->net.at[i].sink.at[k];
            for (int j = 1; j < s->points; j++)
                if (!apart(a, s->point[j - 1].x, s->point[j - 1].y,
                           s->point[j].x, s->point[j].y))
                    return true;
        }
    return false;
}

/* Returns the area of a text in an upper corner: the left one, unless lines
 * cross only that corner. */
static Area corner(const Picture *p, const Area *in, double w, double h)
{
    Area a = { in->x + 2 * small, in->y + small, w, h };
    if (crossed(p, &a)) {
        const double left = a.x;
        a.x = in->x + in->w - 2 * small - w;
        if (crossed(p, &a))
            a.x = left;
    }
    return a;
}

static void place_names(Picture *p)
{
    for (int i = 0; i < p->segment.n; i++) {
        Segment *s = &p->segment.at[i];
        if (s->banded)
            s->label = corner(p, &s->area, s->label.w, soft_text);
    }
    for (int i = 0; i < p->run.n; i++) {
        Run *r = &p->run.at[i];
        r->label = corner(p, &r->area, r->label.w, box_text + 2);
    }
}

void picture_lines(Picture *p)
{
    for (int c = 0; c < p->columns; c++)
        stack_rows(p, c);
    place_columns(p);
    place_areas(p);
    place_frame_lines(p);
    draw_lines(p);
    place_names(p);
}
