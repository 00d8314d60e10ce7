/* draw_sweep.c: draws the variants of a sweep as SVG: a scatter plot of two
 * columns with the Pareto front, or lines over a varied field, with a panel for
 * each combination of the other fields. Names are next to the marks or, if
 * there is no room, in tooltips. Colours follow the reader's light or dark
 * mode. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "sweep/sweep_draw.h"

enum {
    MostLabels = 200, /* with more marks, only those on the front have names */
    MostName = 44     /* maximum length of a name next to a mark */
};
/* position and size in pixels */
static const Area only = { 0, 0, 700, 420 }, one_of_many = { 0, 0, 230, 160 };
static const double top = 66, plot_left = 64 /* ticks */, below = 46, foot = 22,
                    panel_head = 18, apart = 18;

typedef struct {
    const Row *row;
    double x, y, low, high; /* position in units of the axes; interval of y,
                             * NAN: unknown */
    Point at;               /* position in pixels */
    int panel;
    bool pareto;
    int leader; /* index of the first mark at this position, perhaps itself */
} Dot;

typedef struct {
    const Sweep *s;
    Arena *arena;
    Buffer out;
    View view;
    Plot plot;             /* current plot; all have the same scales */
    VEC(Dot) points;       /* sorted by panel, then by x */
    VEC(const Row *) head; /* [panels]: a row of each panel */
    int across;            /* number of panels next to each other */
    int left_out, unnamed;
} Picture;

static const char sheet[] = ".band{fill:#0072b2|#56b4e9;fill-opacity:.18}"
                            ".thin{stroke:#0072b2|#56b4e9;fill:none}\n";

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
    const Dot *x = a, *y = b;
    if (x->panel != y->panel)
        return x->panel - y->panel;
    if (x->x < y->x || x->x > y->x)
        return x->x < y->x ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void find_points(Picture *d)
{
    const Measure *mx = &d->view.x, *my = &d->view.y;
    d->plot.x = scale_new(measure_kind(mx));
    d->plot.y = scale_new(measure_kind(my));
    for (int i = 0; i < d->s->rows.n; i++) {
        const Row *r = &d->s->rows.at[i];
        Dot p = { .row = r, .x = measure_get(mx, r), .y = measure_get(my, r) };
        if (isnan(p.x) || isnan(p.y)) {
            d->left_out++;
            continue;
        }
        p.panel = panel_of(d, r);
        p.low = end_of(my->low, r);
        p.high = end_of(my->high, r);
        /* fmin and fmax ignore NAN */
        scale_widen(&d->plot.x, fmin(p.x, end_of(mx->low, r)));
        scale_widen(&d->plot.x, fmax(p.x, end_of(mx->high, r)));
        scale_widen(&d->plot.y, fmin(p.y, p.low));
        scale_widen(&d->plot.y, fmax(p.y, p.high));
        vec_push(d->arena, &d->points, p);
    }
    if (d->points.n == 0)
        return;
    qsort(d->points.at, (size_t)d->points.n, sizeof *d->points.at, by_place);
    scale_end(&d->plot.x, false);
    scale_end(&d->plot.y, true);
}

/* Finds the Pareto front of the two drawn columns. */
static void find_front(Picture *d)
{
    const View *v = &d->view;
    Sweep copy = *d->s;
    if (v->lines || !v->x.c->better || !v->y.c->better)
        return;
    copy.pareto = (Columns){ 0 };
    vec_push(d->arena, &copy.pareto, *v->x.c);
    vec_push(d->arena, &copy.pareto, *v->y.c);
    copy.rows = (Rows){ 0 };
    for (int i = 0; i < d->points.n; i++)
        vec_push(d->arena, &copy.rows, *d->points.at[i].row);
    front_mark(&copy);
    for (int i = 0; i < d->points.n; i++)
        d->points.at[i].pareto = copy.rows.at[i].pareto;
}

static void place_points(Picture *d)
{
    for (int i = 0; i < d->points.n; i++) {
        Dot *p = &d->points.at[i];
        p->at = plot_point(&d->plot, p->x, p->y);
        p->leader = i;
        for (int k = 0; k < i && !d->view.lines && p->leader == i; k++)
            if (hypot(d->points.at[k].at.x - p->at.x,
                      d->points.at[k].at.y - p->at.y)
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

/* Returns the names of the marks at the position of mark i that fit. */
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

static const char *tip_text(Picture *d, const Dot *p)
{
    Arena *a = d->arena;
    const Scale *x = &d->plot.x, *y = &d->plot.y;
    const char *tip = arena_printf(a, "%s: %s %s %s, %s %s %s",
                                   row_name(d->s, a, p->row), d->view.x.name,
                                   scale_text(a, x, p->x, 5), x->word,
                                   d->view.y.name, scale_text(a, y, p->y, 5),
                                   y->word);
    return isnan(p->low) ? tip
                         : arena_printf(a, "%s (%s to %s)", tip,
                                        scale_text(a, y, p->low, 4),
                                        scale_text(a, y, p->high, 4));
}

/* ---- grid ---- */

/* Sets the ticks to the values of a varied axis, or else to round numbers.
 * Returns their number. */
static int find_ticks(const Picture *d, double tick[MostTicks])
{
    int n = 0;
    if (!d->view.lines)
        return scale_ticks(&d->plot.x, 9, tick);
    for (int i = 0; i < d->points.n; i++) {
        const double x = d->points.at[i].x;
        int at = n;
        while (at > 0 && tick[at - 1] >= x)
            at--;
        if (at < n && tick[at] <= x)
            continue;
        if (n == MostTicks)
            return scale_ticks(&d->plot.x, 7, tick);
        memmove(&tick[at + 1], &tick[at], (size_t)(n++ - at) * sizeof *tick);
        tick[at] = x;
    }
    return n;
}

/* ---- lines ---- */

/* Returns the end of the panel whose points begin at index `from`. */
static int panel_end(const Picture *d, int from)
{
    int end = from;
    while (end < d->points.n
           && d->points.at[end].panel == d->points.at[from].panel)
        end++;
    return end;
}

static void put_bar(Picture *d, double x0, double y0, double x1, double y1)
{
    const Point ends[] = { plot_point(&d->plot, x0, y0),
                           plot_point(&d->plot, x1, y1) };
    labels_take_line(&d->plot.labels, ends[0], ends[1]);
    svg_line(&d->out, "thin", ends, 2, "");
}

static void put_bars(Picture *d, const Dot *p)
{
    const double low = end_of(d->view.x.low, p->row);
    if (!isnan(p->low))
        put_bar(d, p->x, p->low, p->x, p->high);
    if (!isnan(low))
        put_bar(d, low, p->y, end_of(d->view.x.high, p->row), p->y);
}

/* Draws the intervals of the points of a line, as a band if all points have
 * one, otherwise as bars. */
static void put_bands(Picture *d, int from, int end)
{
    const Dot *p = &d->points.at[from];
    const int n = end - from;
    Point *edge = arena_alloc(d->arena, (2 * (size_t)n + 1) * sizeof *edge);
    bool all = n > 1;
    for (int i = 0; i < n; i++)
        all = all && !isnan(p[i].low);
    for (int i = 0; i < n && !all; i++)
        put_bars(d, &p[i]);
    for (int i = 0; i < n && all; i++) {
        edge[i] = plot_point(&d->plot, p[i].x, p[i].low);
        edge[2 * n - 1 - i] = plot_point(&d->plot, p[i].x, p[i].high);
    }
    if (all)
        svg_line(&d->out, "band", edge, 2 * n, "z");
}

static void draw_line(Picture *d, int from, int end)
{
    const Dot *p = d->points.at;
    VEC(Point) at = { 0 };
    for (int i = from; i < end; i++) {
        vec_push(d->arena, &at, p[i].at);
        if (i > from)
            labels_take_line(&d->plot.labels, p[i - 1].at, p[i].at);
    }
    svg_line(&d->out, "line", at.at, at.n, "");
}

/* Draws the Pareto front as steps: all points on the worse side are
 * dominated. */
static void draw_front(Picture *d)
{
    const int better = d->view.lines ? 0 : d->view.x.c->better;
    VEC(Point) at = { 0 };
    for (int i = 0; i < d->points.n; i++) {
        const Dot *p = &d->points.at[i];
        if (!p->pareto || p->leader != i)
            continue;
        if (at.n > 0) {
            const Point last = at.at[at.n - 1];
            vec_push(d->arena, &at,
                     (better < 0 ? (Point){ p->at.x, last.y }
                                 : (Point){ last.x, p->at.y }));
        }
        vec_push(d->arena, &at, p->at);
    }
    for (int i = 1; i < at.n; i++)
        labels_take_line(&d->plot.labels, at.at[i - 1], at.at[i]);
    if (at.n > 1)
        svg_line(&d->out, "front", at.at, at.n, "");
}

/* ---- marks ---- */
static void put_marks(Picture *d, int from, int end)
{
    for (int pareto = 0; pareto <= 1; pareto++)
        for (int i = from; i < end; i++) {
            const Dot *p = &d->points.at[i];
            if (p->pareto != pareto)
                continue;
            svg_mark(&d->out, pareto ? "best" : "dot",
                     pareto ? MarkDiamond : MarkDot, 1, p->at, tip_text(d, p));
        }
}

/* Labels the marks; those on the Pareto front come first. */
static void put_labels(Picture *d, int from, int end)
{
    for (int pareto = 1; pareto >= 0; pareto--)
        for (int i = from; i < end; i++) {
            const Dot *p = &d->points.at[i];
            if (p->pareto != pareto || p->leader != i)
                continue;
            if ((!pareto && end - from > MostLabels)
                || !plot_label(&d->plot, pareto ? "best" : "soft", p->at,
                               d->view.lines
                                   ? scale_text(d->arena, &d->plot.y, p->y, 3)
                                   : names_at(d, i),
                               d->view.lines ? LeadNone : LeadFree))
                d->unnamed++;
        }
}

/* ---- plots ---- */
static void put_sides(Picture *d, int panel)
{
    const bool last = panel + d->across >= d->head.n;
    const bool first = panel % d->across == 0;
    double tick[MostTicks];
    plot_grid_x(&d->plot, tick, find_ticks(d, tick), last);
    plot_grid_y(&d->plot, d->head.n == 1 ? 9 : 4, first);
    plot_edge(&d->plot);
    if (last)
        plot_sides(&d->plot, side_text(d, &d->view.x, &d->plot.x), NULL);
    if (d->head.n > 1)
        svg_text(&d->out, "b", 0, -6, "%s",
                 label_cut(d->arena,
                           panel_name(d->s, d->arena, d->view.x.axis,
                                      d->head.at[panel]),
                           34));
}

static void put_plot(Picture *d, int from, int end)
{
    const int panel = d->points.at[from].panel;
    const Area *at = &d->plot.at;
    const double head = d->head.n > 1 ? panel_head : 0;
    d->plot = plot_new(&d->out, *at, d->plot.x, d->plot.y);
    buffer_printf(&d->out, "<g transform=\"translate(%g %g)\">\n",
                  page_edge + plot_left + panel % d->across * (at->w + apart),
                  top + head + panel / d->across * (at->h + head + apart));
    put_sides(d, panel);
    put_bands(d, d->view.lines ? from : end, end);
    for (int i = from; i < end; i++)
        labels_take(&d->plot.labels, d->points.at[i].at, 5);
    if (d->view.lines)
        draw_line(d, from, end);
    else
        draw_front(d);
    for (int i = from; i < end && !d->view.lines; i++)
        put_bands(d, i, i + 1);
    put_marks(d, from, end);
    put_labels(d, from, end);
    buffer_printf(&d->out, "</g>\n");
}

/* ---- the whole ---- */
static void measure(Picture *d)
{
    d->plot.at = d->head.n == 1 ? only : one_of_many;
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
    int pareto = 0;
    for (int i = 0; i < d->points.n; i++) {
        pareto += d->points.at[i].pareto && d->points.at[i].leader == i;
        bars |= !isnan(d->points.at[i].low)
             || !isnan(end_of(d->view.x.low, d->points.at[i].row));
    }
    const char *text = arena_printf(d->arena, "%d variant%s", d->points.n,
                                    d->points.n == 1 ? "" : "s");
    if (pareto)
        text = arena_printf(d->arena,
                            pareto > 1
                                ? "%s; diamonds, joined: the Pareto front"
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

static void put_all(Picture *d)
{
    const double head = d->head.n > 1 ? panel_head : 0;
    const int down = (d->head.n + d->across - 1) / d->across;
    PageHead page = { .name = title_of(d),
                      .what = "a sweep",
                      .text = subtitle_of(d),
                      .sheet = arena_printf(d->arena, "%s%s", plot_sheet,
                                            sheet) };
    page.width = floor(
        fmax(page_width(&page),
             page_edge + plot_left + d->across * (d->plot.at.w + apart)));
    page.height = top + down * (d->plot.at.h + head + apart) - apart + below
                + foot;
    page_begin(&d->out, &page);
    svg_side(&d->out, page_edge + 10, (top + page.height - below - foot) / 2,
             side_text(d, &d->view.y, &d->plot.y));
    for (int i = 0, end; i < d->points.n; i = end) {
        end = panel_end(d, i);
        put_plot(d, i, end);
    }
    svg_text(&d->out, "soft", page_edge, page.height - 10, "%s", foot_of(d));
}

const char *draw_sweep(const Sweep *s)
{
    Picture d = { .s = s,
                  .arena = s->arena,
                  .out = { .arena = s->arena },
                  .view = view_choose(s) };
    find_points(&d);
    if (d.points.n == 0)
        return NULL;
    find_front(&d);
    measure(&d);
    place_points(&d);
    put_all(&d);
    return page_end(&d.out);
}
