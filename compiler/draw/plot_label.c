/* plot_label.c: places the labels of a plot, next to the mark or farther away
 * with a line to it, but never over another label, mark or line. */
#include <math.h>

#include "base/strings.h"
#include "draw/plot.h"

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

static bool overlaps(const Area *a, const Area *b)
{
    return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h
        && b->y < a->y + a->h;
}

static bool is_free(const Labels *l, const Area *b)
{
    const Area *in = &l->inside;
    if (b->x < in->x || b->y < in->y || b->x + b->w > in->x + in->w
        || b->y + b->h > in->y + in->h)
        return false;
    for (int i = 0; i < l->taken.n; i++)
        if (overlaps(&l->taken.at[i], b))
            return false;
    return true;
}

void labels_take(Labels *l, Point at, double radius)
{
    const Area b = { at.x - radius, at.y - radius, 2 * radius, 2 * radius };
    vec_push(l->arena, &l->taken, b);
}

/* Returns piece i of n of a line: a row of small boxes without gaps, which
 * represents the line. */
static Area piece_of(Point from, Point to, int i, int n)
{
    const double part = n > 0 ? (double)i / n : 0;
    return (Area){ from.x + part * (to.x - from.x) - 1,
                   from.y + part * (to.y - from.y) - 1, 2, 2 };
}

static int pieces(Point from, Point to)
{
    return (int)ceil(hypot(to.x - from.x, to.y - from.y) / 2);
}

void labels_take_line(Labels *l, Point from, Point to)
{
    const int n = pieces(from, to);
    for (int i = 0; i <= n; i++)
        vec_push(l->arena, &l->taken, piece_of(from, to, i, n));
}

/* Sets p->lead_to to the point of the box that is nearest to the mark. Returns
 * true if the line to that point crosses no mark or text. */
static bool lead_free(const Labels *l, Point mark, LabelPlace *p)
{
    const Area *b = &p->box;
    p->lead_to = (Point){ fmin(fmax(mark.x, b->x), b->x + b->w),
                          fmin(fmax(mark.y, b->y), b->y + b->h) };
    const int n = pieces(mark, p->lead_to);
    for (int i = 0; i <= n; i++) {
        const Area at = piece_of(mark, p->lead_to, i, n);
        if (hypot(at.x + 1 - mark.x, at.y + 1 - mark.y) > clear
            && !is_free(l, &at))
            return false;
    }
    return true;
}

static bool try_place(const Labels *l, Point at, double away, double turn,
                      LeadKind leads, LabelPlace *p)
{
    const double cosine = cos(turn), sine = sin(turn);
    p->box.x = at.x + cosine * (away + p->box.w / 2) - p->box.w / 2;
    p->box.y = at.y - sine * (away + p->box.h / 2) - p->box.h / 2;
    p->lead = away > beside_mark;
    return is_free(l, &p->box)
        && (!p->lead || lead_free(l, at, p) || leads == LeadCrosses);
}

static bool find_place(const Labels *l, Point at, LeadKind leads, LabelPlace *p)
{
    static const int eighths[] = { 0, 1, 7, 4, 3, 5, 2, 6 };
    for (int i = 0; i < 8; i++)
        if (try_place(l, at, beside_mark, pi / 4 * eighths[i], leads, p))
            return true;
    for (LeadKind kind = LeadFree; kind <= leads; kind++)
        for (int ring = 0; ring < 6; ring++)
            for (int k = 0; k < 24; k++)
                if (try_place(l, at, 16 + 14 * ring, pi / 12 * k, kind, p))
                    return true;
    return false;
}

bool labels_place(Labels *l, Point at, const char *text, LeadKind leads,
                  LabelPlace *to)
{
    *to = (LabelPlace){ .box = { .w = svg_width(text, LabelSize, false),
                                 .h = above + (double)LabelSize } };
    if (!find_place(l, at, leads, to))
        return false;
    vec_push(l->arena, &l->taken, to->box);
    if (to->lead)
        labels_take_line(l, at, to->lead_to);
    return true;
}
