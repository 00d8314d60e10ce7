/* draw_sweep.c: the variants of a sweep as SVG: a scatter of two columns with
 * the Pareto front, or lines over a field that is varied, a panel for each
 * combination of the others. Names stand beside the marks; what has no room for
 * its name has it as a tip. Colours follow the reader's light or dark.       */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"
#include "base/strings.h"
#include "sweep/sweep_draw.h"

/* pixels */
enum {
    Edge = 18,
    Top = 66,  /* of titles */
    Left = 64, /* of a plot: its ticks */
    Below = 46,
    Foot = 22,
    OneWidth = 700, /* the only plot */
    OneHeight = 420,
    PanelWidth = 230, /* one of several */
    PanelHeight = 160,
    PanelHead = 18,
    Apart = 18,
    MostLabels = 200, /* marks with names: of more the front alone */
    MostName = 44     /* letters of a name beside a mark */
};

typedef struct {
    const Row *row;
    double x, y, low, high; /* low, high: of y; NAN: not known */
    double at_x, at_y;      /* pixels in its plot */
    int panel;
    bool front;
    int leader; /* the first mark at this place; itself */
} Point;

typedef struct {
    const Sweep *s;
    Arena *arena;
    Buffer out;
    View view;
    Scale x, y;
    VEC(Point) points; /* in the order of x in their panel, from scatter() */
    VEC(const Row *) head; /* a row of each panel */
    int width, height;     /* of a plot */
    int across;            /* panels */
    int left_out, unnamed;
} Picture;

/* Colours that the colour-blind tell apart too [Okabe and Ito 2008]. */
static const char light[] =
    ".dot{fill:#0072b2}.line{stroke:#0072b2;stroke-width:2;fill:none}\n"
    ".band{fill:#0072b2;fill-opacity:.18}.thin{stroke:#0072b2;fill:none}\n"
    ".best{fill:#c04f00}.front{stroke:#c04f00;stroke-width:1.5;fill:none}\n"
    ".lead{stroke:#999;stroke-width:.7;fill:none}.b{font-weight:600}\n"
    "text.best{fill:#c04f00}\n";
static const char dark[] =
    ".dot{fill:#56b4e9}.line{stroke:#56b4e9}.thin{stroke:#56b4e9}\n"
    ".band{fill:#56b4e9}.best{fill:#f0a030}.front{stroke:#f0a030}\n"
    ".lead{stroke:#777}text.best{fill:#f0a030}\n";

/* ---- points ---- */
static int panel_of(Picture *d, const Row *r)
{
    for (int i = 0; i < d->head.n; i++)
        if (!d->view.lines
            || same_panel(d->s, d->view.x.axis, d->head.at[i], r))
            return i;
    vec_push(d->arena, &d->head, r);
    return d->head.n - 1;
}

static double end_of(const SweepColumn *c, const Row *r)
{
    return c ? c->get(r, c->which) : NAN;
}

static int by_place(const void *a, const void *b)
{
    const Point *x = a, *y = b;
    if (x->panel != y->panel)
        return x->panel - y->panel;
    if (x->x < y->x || x->x > y->x)
        return x->x < y->x ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void find_points(Picture *d)
{
    const Measure *mx = &d->view.x, *my = &d->view.y;
    d->x = scale_new(measure_kind(mx));
    d->y = scale_new(measure_kind(my));
    for (int i = 0; i < d->s->rows.n; i++) {
        const Row *r = &d->s->rows.at[i];
        Point p = { .row = r,
                    .x = measure_get(mx, r),
                    .y = measure_get(my, r) };
        if (isnan(p.x) || isnan(p.y)) {
            d->left_out++;
            continue;
        }
        p.panel = panel_of(d, r);
        p.low = end_of(my->low, r);
        p.high = end_of(my->high, r);
        /* fmin, fmax: not of a NAN */
        scale_widen(&d->x, fmin(p.x, end_of(mx->low, r)));
        scale_widen(&d->x, fmax(p.x, end_of(mx->high, r)));
        scale_widen(&d->y, fmin(p.y, p.low));
        scale_widen(&d->y, fmax(p.y, p.high));
        vec_push(d->arena, &d->points, p);
    }
    if (d->points.n == 0)
        return;
    qsort(d->points.at, (size_t)d->points.n, sizeof *d->points.at, by_place);
    scale_end(&d->x, false);
    scale_end(&d->y, true);
}

/* The front in the columns that are drawn. */
static void find_front(Picture *d)
{
    const View *v = &d->view;
    Sweep copy = *d->s;
    if (v->lines || !v->x.c->better || !v->y.c->better)
        return;
    copy.front = (Columns){ 0 };
    vec_push(d->arena, &copy.front, *v->x.c);
    vec_push(d->arena, &copy.front, *v->y.c);
    copy.rows = (Rows){ 0 };
    for (int i = 0; i < d->points.n; i++)
        vec_push(d->arena, &copy.rows, *d->points.at[i].row);
    front_mark(&copy);
    for (int i = 0; i < d->points.n; i++)
        d->points.at[i].front = copy.rows.at[i].front;
}

static void place_points(Picture *d)
{
    for (int i = 0; i < d->points.n; i++) {
        Point *p = &d->points.at[i];
        p->at_x = d->width * scale_part(&d->x, p->x);
        p->at_y = d->height * (1 - scale_part(&d->y, p->y));
        p->leader = i;
        for (int k = 0; k < i && !d->view.lines && p->leader == i; k++)
            if (hypot(d->points.at[k].at_x - p->at_x,
                      d->points.at[k].at_y - p->at_y)
                < 1)
                p->leader = d->points.at[k].leader;
    }
}

/* ---- texts ---- */
static const char *side_text(const Picture *d, const Measure *m, const Scale *s)
{
    const char *text = *s->word
                         ? arena_printf(d->arena, "%s, %s", m->name, s->word)
                         : m->name;
    if (s->logarithmic)
        return arena_printf(d->arena, "%s (logarithmic)", text);
    return s->from > 0 ? arena_printf(d->arena, "%s (not from 0)", text) : text;
}

/* The names of all marks at its place, as many as there is room for. */
static const char *names_at(const Picture *d, int i)
{
    const char *names = label_cut(d->arena,
                                  row_name(d->s, d->arena, d->points.at[i].row),
                                  MostName);
    int left = 0;
    for (int k = i + 1; k < d->points.n; k++) {
        if (d->points.at[k].leader != i)
            continue;
        const char *more = arena_printf(d->arena, "%s, %s", names,
                                        row_name(d->s, d->arena,
                                                 d->points.at[k].row));
        if (left == 0 && strlen(more) <= MostName)
            names = plain_text(d->arena, more);
        else
            left++;
    }
    return left ? arena_printf(d->arena, "%s and %d more", names, left) : names;
}

static void put_tip(Picture *d, const Point *p)
{
    Arena *a = d->arena;
    const char *tip = arena_printf(a, "%s: %s %s %s, %s %s %s",
                                   row_name(d->s, d->arena, p->row),
                                   d->view.x.name,
                                   scale_text(a, &d->x, p->x, 5), d->x.word,
                                   d->view.y.name,
                                   scale_text(a, &d->y, p->y, 5), d->y.word);
    if (!isnan(p->low))
        tip = arena_printf(a, "%s (%s to %s)", tip,
                           scale_text(a, &d->y, p->low, 4),
                           scale_text(a, &d->y, p->high, 4));
    buffer_printf(&d->out, "<title>");
    svg_add(&d->out, tip);
    buffer_printf(&d->out, "</title>");
}

/* ---- grid ---- */

/* Of an axis that is varied its values, else round ones. */
static int find_ticks(const Picture *d, double tick[MostTicks])
{
    int n = 0;
    if (!d->view.lines)
        return scale_ticks(&d->x, 9, tick);
    for (int i = 0; i < d->points.n; i++) {
        bool known = false;
        for (int k = 0; k < n; k++)
            known |= fabs(tick[k] - d->points.at[i].x) <= 0;
        if (!known && n == MostTicks)
            return scale_ticks(&d->x, 7, tick);
        if (!known)
            tick[n++] = d->points.at[i].x;
    }
    return n;
}

static void put_ticks_x(Picture *d, bool texts)
{
    double tick[MostTicks];
    Labels l = { .arena = d->arena };
    const int n = find_ticks(d, tick);
    for (int i = 0; i < n; i++) {
        const double x = d->width * scale_part(&d->x, tick[i]);
        const char *text = scale_text(d->arena, &d->x, tick[i], 4);
        const double half = svg_width(text, LabelSize, false) / 2 + 2;
        bool room = texts;
        buffer_printf(&d->out, "<path class=\"grid\" d=\"M%.1f 0v%d\"/>\n", x,
                      d->height);
        for (int k = 0; k < l.taken.n; k++)
            room &= x + half < l.taken.at[k].x
                 || x - half > l.taken.at[k].x + l.taken.at[k].w;
        if (!room)
            continue;
        vec_push(d->arena, &l.taken, ((Box){ x - half, 0, 2 * half, 1 }));
        svg_put(&d->out, " class=\"soft\" text-anchor=\"middle\"", x,
                d->height + 14, text);
    }
}

static void put_ticks_y(Picture *d, bool texts)
{
    double tick[MostTicks];
    const int n = scale_ticks(&d->y, d->height > PanelHeight ? 9 : 4, tick);
    for (int i = 0; i < n; i++) {
        const double y = d->height * (1 - scale_part(&d->y, tick[i]));
        buffer_printf(&d->out, "<path class=\"grid\" d=\"M0 %.1fh%d\"/>\n", y,
                      d->width);
        if (texts)
            svg_put(&d->out, " class=\"soft\" text-anchor=\"end\"", -6, y + 3.5,
                    scale_text(d->arena, &d->y, tick[i], 4));
    }
}

/* ---- lines ---- */

/* The points of a panel: the next one behind `from`. */
static int panel_end(const Picture *d, int from)
{
    int end = from;
    while (end < d->points.n
           && d->points.at[end].panel == d->points.at[from].panel)
        end++;
    return end;
}

static double down(const Picture *d, double y)
{
    return d->height * (1 - scale_part(&d->y, y));
}

static void put_bar(Picture *d, Labels *l, double x0, double y0, double x1,
                    double y1)
{
    labels_take_line(l, x0, y0, x1, y1);
    buffer_printf(&d->out,
                  "<path class=\"thin\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", x0, y0,
                  x1, y1);
}

static void put_bars(Picture *d, Labels *l, const Point *p)
{
    const double low = end_of(d->view.x.low, p->row);
    const double high = end_of(d->view.x.high, p->row);
    if (!isnan(p->low))
        put_bar(d, l, p->at_x, down(d, p->low), p->at_x, down(d, p->high));
    if (!isnan(low))
        put_bar(d, l, d->width * scale_part(&d->x, low), p->at_y,
                d->width * scale_part(&d->x, high), p->at_y);
}

/* The intervals of all of a line's points, or of those that have one. */
static void put_bands(Picture *d, Labels *l, int from, int end)
{
    const Point *p = d->points.at;
    bool all = end - from > 1;
    for (int i = from; i < end; i++)
        all = all && !isnan(p[i].low);
    for (int i = from; i < end && !all; i++)
        put_bars(d, l, &p[i]);
    if (!all)
        return;
    buffer_printf(&d->out, "<path class=\"band\" d=\"");
    for (int i = from; i < end; i++)
        buffer_printf(&d->out, "%s%.1f %.1f", i > from ? "L" : "M", p[i].at_x,
                      down(d, p[i].low));
    for (int i = end - 1; i >= from; i--)
        buffer_printf(&d->out, "L%.1f %.1f", p[i].at_x, down(d, p[i].high));
    buffer_printf(&d->out, "z\"/>\n");
}

static void draw_front_line(Picture *d, Labels *l, int from, int end)
{
    const Point *p = d->points.at;
    buffer_printf(&d->out, "<path class=\"line\" d=\"");
    for (int i = from; i < end; i++) {
        buffer_printf(&d->out, "%s%.1f %.1f", i > from ? "L" : "M", p[i].at_x,
                      p[i].at_y);
        if (i > from)
            labels_take_line(l, p[i - 1].at_x, p[i - 1].at_y, p[i].at_x,
                             p[i].at_y);
    }
    buffer_printf(&d->out, "\"/>\n");
}

/* Steps: what lies on their bad side is no better in both. */
static void draw_front(Picture *d, Labels *l)
{
    const int better = d->view.lines ? 0 : d->view.x.c->better;
    const Point *last = NULL;
    int n = 0;
    for (int i = 0; i < d->points.n; i++)
        n += d->points.at[i].front && d->points.at[i].leader == i;
    if (n < 2)
        return;
    buffer_printf(&d->out, "<path class=\"front\" d=\"");
    for (int i = 0; i < d->points.n; i++) {
        const Point *p = &d->points.at[i];
        if (!p->front || p->leader != i)
            continue;
        if (!last) {
            buffer_printf(&d->out, "M%.1f %.1f", p->at_x, p->at_y);
        } else {
            const double x = better < 0 ? p->at_x : last->at_x;
            const double y = better < 0 ? last->at_y : p->at_y;
            buffer_printf(&d->out, better < 0 ? "H%.1fV%.1f" : "V%.1fH%.1f",
                          better < 0 ? x : y, better < 0 ? p->at_y : p->at_x);
            labels_take_line(l, last->at_x, last->at_y, x, y);
            labels_take_line(l, x, y, p->at_x, p->at_y);
        }
        last = p;
    }
    buffer_printf(&d->out, "\"><title>the Pareto front</title></path>\n");
}

/* ---- marks ---- */
static void put_marks(Picture *d, int from, int end)
{
    for (int front = 0; front <= 1; front++)
        for (int i = from; i < end; i++) {
            const Point *p = &d->points.at[i];
            if (p->front != front)
                continue;
            buffer_printf(&d->out,
                          front ? "<path class=\"best\" d=\"M%.1f %.1f"
                                  "l5.5 5.5l-5.5 5.5l-5.5 -5.5z\">"
                                : "<path class=\"dot\" d=\"M%.1f %.1f"
                                  "a3.5 3.5 0 1 1 -.1 0z\">",
                          p->at_x, p->at_y - (front ? 5.5 : 3.5));
            put_tip(d, p);
            buffer_printf(&d->out, "</path>\n");
        }
}

/* False: there is no room. */
static bool put_label(Picture *d, Labels *l, const Point *p, const char *text)
{
    LabelPlace at;
    if (!labels_place(l, p->at_x, p->at_y, text, !d->view.lines, &at))
        return false;
    if (at.lead)
        buffer_printf(&d->out,
                      "<path class=\"lead\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                      p->at_x, p->at_y, at.lead_x, at.lead_y);
    const double left = at.box.x + at.box.w / 2; /* fonts are narrower */
    const char *anchor = " text-anchor=\"middle\"";
    double x = left;
    if (at.box.x >= p->at_x) {
        x = at.box.x;
        anchor = "";
    } else if (at.box.x + at.box.w <= p->at_x) {
        x = at.box.x + at.box.w;
        anchor = " text-anchor=\"end\"";
    }
    svg_put(&d->out,
            arena_printf(d->arena, " class=\"%s\"%s",
                         p->front ? "best" : "soft", anchor),
            x, at.box.y + (double)LabelSize - 1, text);
    return true;
}

/* Those of the front first. */
static void put_labels(Picture *d, Labels *l, int from, int end)
{
    for (int front = 1; front >= 0; front--)
        for (int i = from; i < end; i++) {
            const Point *p = &d->points.at[i];
            if (p->front != front || p->leader != i)
                continue;
            if ((!front && end - from > MostLabels)
                || !put_label(d, l, p,
                              d->view.lines
                                  ? scale_text(d->arena, &d->y, p->y, 3)
                                  : names_at(d, i)))
                d->unnamed++;
        }
}

/* ---- plots ---- */
static void put_sides(Picture *d, int panel)
{
    const bool below = panel + d->across >= d->head.n;
    const bool first = panel % d->across == 0;
    buffer_printf(&d->out, "<g font-size=\"%d\">\n", LabelSize);
    put_ticks_x(d, below);
    put_ticks_y(d, first);
    buffer_printf(&d->out,
                  "<rect class=\"edge\" width=\"%d\" height=\"%d\"/>\n</g>\n",
                  d->width, d->height);
    if (below)
        svg_put(&d->out, " text-anchor=\"middle\"", d->width / 2.0,
                d->height + 32, side_text(d, &d->view.x, &d->x));
    if (d->head.n > 1)
        svg_put(&d->out, " class=\"b\"", 0, -6,
                label_cut(d->arena,
                          panel_name(d->s, d->arena, d->view.x.axis,
                                     d->head.at[panel]),
                          PanelWidth / 7));
}

static void put_plot(Picture *d, int from, int end)
{
    const int panel = d->points.at[from].panel;
    const int x = Edge + Left + panel % d->across * (d->width + Apart);
    const int head = d->head.n > 1 ? PanelHead : 0;
    const int y = Top + head + panel / d->across * (d->height + head + Apart);
    Labels l = { .arena = d->arena,
                 .inside = { 1, 1, d->width - 2, d->height - 2 } };
    buffer_printf(&d->out, "<g transform=\"translate(%d %d)\">\n", x, y);
    put_sides(d, panel);
    put_bands(d, &l, d->view.lines ? from : end, end);
    for (int i = from; i < end; i++)
        labels_take(&l, d->points.at[i].at_x, d->points.at[i].at_y, 5);
    if (d->view.lines)
        draw_front_line(d, &l, from, end);
    else
        draw_front(d, &l);
    for (int i = from; i < end && !d->view.lines; i++)
        put_bands(d, &l, i, i + 1);
    put_marks(d, from, end);
    buffer_printf(&d->out, "<g font-size=\"%d\">\n", LabelSize);
    put_labels(d, &l, from, end);
    buffer_printf(&d->out, "</g>\n</g>\n");
}

/* ---- the whole ---- */
static void measure(Picture *d)
{
    const bool one = d->head.n == 1;
    d->width = one ? OneWidth : PanelWidth;
    d->height = one ? OneHeight : PanelHeight;
    d->across = d->head.n <= 3 ? d->head.n : d->head.n == 4 ? 2 : 3;
    if (d->head.n > 12)
        d->across = 4;
}

static const char *title_of(const Picture *d)
{
    const Sweep *s = d->s;
    const char *of = s->options->nspecs > 1
                       ? arena_printf(d->arena, "%d specs", s->options->nspecs)
                       : s->variants.at[0].label;
    return arena_printf(d->arena, "%s: %s against %s", of, d->view.y.name,
                        d->view.x.name);
}

static const char *subtitle_of(const Picture *d)
{
    const Sweep *s = d->s;
    bool bars = false;
    int front = 0;
    for (int i = 0; i < d->points.n; i++) {
        front += d->points.at[i].front && d->points.at[i].leader == i;
        bars |= !isnan(d->points.at[i].low)
             || !isnan(end_of(d->view.x.low, d->points.at[i].row));
    }
    const char *text = arena_printf(d->arena, "%d variant%s", d->points.n,
                                    d->points.n == 1 ? "" : "s");
    if (front)
        text = arena_printf(d->arena,
                            front > 1 ? "%s; diamonds, joined: the Pareto front"
                                      : "%s; diamond: the best in both",
                            text);
    if (bars)
        text = arena_printf(d->arena, "%s; %s: 95 %% intervals", text,
                            d->view.lines ? "bands" : "bars");
    if (s->options->predict && s->speeds.missed > 0)
        text = arena_printf(d->arena, "%s; predicted, +- %.0f %%", text,
                            100 * s->speeds.missed_most);
    const char *work = workload_text(s, d->arena);
    if (*work)
        text = arena_printf(d->arena, "%s; %s", text, work);
    return *s->machine->cpu
             ? arena_printf(d->arena, "%s; %s", text, s->machine->cpu)
             : text;
}

static const char *foot_of(const Picture *d)
{
    Arena *a = d->arena;
    const char *text = "";
    if (d->left_out)
        text = arena_printf(a,
                            "%d of %d variants are left out: they cannot be "
                            "made, or have no such number. ",
                            d->left_out, d->s->rows.n);
    if (d->unnamed && !d->view.lines)
        text = arena_printf(a, "%s%d mark%s no room for %s.", text, d->unnamed,
                            d->unnamed == 1 ? " has" : "s have",
                            d->unnamed == 1 ? "its name" : "their names");
    return text;
}

static void draw_sweep_head(Picture *d, int width, int height)
{
    svg_begin(&d->out, width, height, 11);
    svg_add(&d->out, title_of(d));
    buffer_printf(&d->out,
                  "</title>\n<style>\n%s%s"
                  "@media(prefers-color-scheme:dark){\n%s%s}\n</style>\n"
                  "<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n",
                  svg_light, light, svg_dark, dark);
    svg_put(&d->out, " class=\"b\" font-size=\"16\"", Edge, 28, title_of(d));
    svg_put(&d->out, " class=\"soft\"", Edge, 45, subtitle_of(d));
    svg_put(&d->out,
            arena_printf(d->arena,
                         " text-anchor=\"middle\" transform=\"rotate(-90 %d "
                         "%d)\"",
                         Edge + 10, (Top + height - Below - Foot) / 2),
            Edge + 10, (Top + height - Below - Foot) / 2.0,
            side_text(d, &d->view.y, &d->y));
}

static void put_all(Picture *d)
{
    const int head = d->head.n > 1 ? PanelHead : 0;
    const int down = (d->head.n + d->across - 1) / d->across;
    const int plots = Edge + Left + d->across * (d->width + Apart);
    const double texts = fmax(svg_width(title_of(d), 16, true),
                              svg_width(subtitle_of(d), 11, false));
    const int width = (int)fmax(plots, 2 * Edge + texts);
    const int height = Top + down * (d->height + head + Apart) - Apart + Below
                     + Foot;
    draw_sweep_head(d, width, height);
    for (int i = 0, end; i < d->points.n; i = end) {
        end = panel_end(d, i);
        put_plot(d, i, end);
    }
    svg_put(&d->out, " class=\"soft\"", Edge, height - 10, foot_of(d));
    buffer_printf(&d->out, "</svg>\n");
}

char *draw_sweep(const Sweep *s, size_t *size)
{
    Picture d = { .s = s, .arena = arena_new(), .view = view_choose(s) };
    char *text = NULL;
    d.out.arena = d.arena;
    find_points(&d);
    if (d.points.n > 0) {
        find_front(&d);
        measure(&d);
        place_points(&d);
        put_all(&d);
        *size = (size_t)d.out.n;
        text = malloc(*size + 1);
        if (!text)
            fail(ExitResource, "out of memory for a picture");
        memcpy(text, d.out.at, *size + 1);
    }
    arena_free(d.arena);
    return text;
}
