/* draw_label.c: places for labels of marks in a plot: beside the mark, else
 * farther off with a line to it; never over another label, a mark or a line. */
#include <math.h>

#include "draw/svg.h"
#include "base/strings.h"
#include "sweep/sweep_draw.h"

static const double pi = 3.14159265358979;
static const double beside_mark = 8, above = 2, clear = 9; /* pixels */

const char *label_cut(Arena *a, const char *text, int most)
{
    const char *plain = plain_text(a, text), *at = plain;
    for (int n = 0; *at; at++)
        if ((*at & 0xc0) != 0x80 && ++n > most)
            return arena_printf(a, "%.*s\xe2\x80\xa6", (int)(at - plain),
                                plain);
    return plain;
}

static bool overlaps(const Box *a, const Box *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h
        && b->y < a->y + a->h;
}

static bool is_free(const Labels *l, const Box *b)
{
    const Box *in = &l->inside;
    if (b->x < in->x || b->y < in->y || b->x + b->w > in->x + in->w
        || b->y + b->h > in->y + in->h)
        return false;
    for (int i = 0; i < l->taken.n; i++)
        if (overlaps(&l->taken.at[i], b))
            return false;
    return true;
}

void labels_take(Labels *l, double x, double y, double radius)
{
    const Box b = { x - radius, y - radius, 2 * radius, 2 * radius };
    vec_push(l->arena, &l->taken, b);
}

/* Small boxes stand for it, without gaps that another one could go through. */
static Box piece_of(double x0, double y0, double x1, double y1, int i, int n)
{
    const double part = n > 0 ? (double)i / n : 0;
    return (Box){ x0 + part * (x1 - x0) - 1, y0 + part * (y1 - y0) - 1, 2, 2 };
}

static int pieces(double x0, double y0, double x1, double y1)
{
    return (int)ceil(hypot(x1 - x0, y1 - y0) / 2);
}

void labels_take_line(Labels *l, double x0, double y0, double x1, double y1)
{
    const int n = pieces(x0, y0, x1, y1);
    for (int i = 0; i <= n; i++)
        vec_push(l->arena, &l->taken, piece_of(x0, y0, x1, y1, i, n));
}

/* From the mark to the nearest point of the box, past other marks and texts. */
static bool lead_free(const Labels *l, double x, double y, LabelPlace *p)
{
    const Box *b = &p->box;
    p->lead_x = fmin(fmax(x, b->x), b->x + b->w);
    p->lead_y = fmin(fmax(y, b->y), b->y + b->h);
    const int n = pieces(x, y, p->lead_x, p->lead_y);
    for (int i = 0; i <= n; i++) {
        const Box at = piece_of(x, y, p->lead_x, p->lead_y, i, n);
        if (hypot(at.x + 1 - x, at.y + 1 - y) > clear && !is_free(l, &at))
            return false;
    }
    return true;
}

static bool try_place(const Labels *l, double x, double y, double away,
                      double turn, LabelPlace *p)
{
    const double cosine = cos(turn), sine = sin(turn);
    p->box.x = x + cosine * (away + p->box.w / 2) - p->box.w / 2;
    p->box.y = y - sine * (away + p->box.h / 2) - p->box.h / 2;
    p->lead = away > beside_mark;
    return is_free(l, &p->box) && (!p->lead || lead_free(l, x, y, p));
}

static bool find_place(const Labels *l, double x, double y, bool far,
                       LabelPlace *p)
{
    static const int eighths[] = { 0, 1, 7, 4, 3, 5, 2, 6 };
    for (int i = 0; i < 8; i++)
        if (try_place(l, x, y, beside_mark, pi / 4 * eighths[i], p))
            return true;
    for (int ring = 0; far && ring < 6; ring++)
        for (int k = 0; k < 24; k++)
            if (try_place(l, x, y, 16 + 14 * ring, pi / 12 * k, p))
                return true;
    return false;
}

bool labels_place(Labels *l, double x, double y, const char *text, bool far,
                  LabelPlace *to)
{
    *to = (LabelPlace){ .box = { .w = svg_width(text, LabelSize, false),
                                 .h = above + (double)LabelSize } };
    if (!find_place(l, x, y, far, to))
        return false;
    vec_push(l->arena, &l->taken, to->box);
    if (to->lead)
        labels_take_line(l, x, y, to->lead_x, to->lead_y);
    return true;
}
