/* draw_tune.c: draws the search of a tuning as SVG, with a small plot per task:
 * the times of the candidates relative to the default, in the order in which
 * they were first timed or removed. Colours follow the reader's light or dark
 * mode; shapes express the same as colours. */
#include <math.h>
#include <stdlib.h>

#include "base/strings.h"
#include "draw/plot.h"
#include "tune/tune_report.h"

/* pixels */
static const double top = 92, plot_width = 270, plot_height = 150,
                    plot_left = 40, head = 40, below = 58, apart = 28;
enum { Letters = 44 };           /* maximum length of the title of a plot */
static const double highest = 2; /* top of the scale; the default is at 1 */

typedef VEC(const Candidate *) Shown; /* candidates in the order in which they
                                       * were timed */

typedef struct {
    Buffer out;
    Arena *arena;
    const TuneReport *r;
    int plots, across; /* number of tasks that were timed; plots per line */
    double width, height;
    /* state of the current plot: */
    const TuneTask *t;
    double default_seconds; /* seconds of a run with the default tiling */
    Shown shown;
    Plot plot; /* x: index in `shown`; y: time / default_seconds */
} Picture;

static const char sheet[] =
    ".default,.removed{stroke:#222|#e6e6e6;stroke-width:1.6;fill:none}"
    ".dot{fill-opacity:.6}\n";

/* ---- points ---- */
static int by_time(const void *a, const void *b)
{
    const Candidate *x = *(const Candidate *const *)a;
    const Candidate *y = *(const Candidate *const *)b;
    const double before = isnan(x->when) ? 0 : x->when;
    const double after = isnan(y->when) ? 0 : y->when;
    return before < after ? -1 : before > after ? 1 : (x > y) - (x < y);
}

static bool timed_any(const TuneTask *t)
{
    return t->candidate.n > 0 && !t->reused && was_timed(&t->candidate.at[0]);
}

static void measure_chart(Picture *d, const TuneTask *t, Area at)
{
    Scale x = scale_new(UnitWord), y = scale_new(UnitWord);
    d->t = t;
    d->default_seconds = t->candidate.at[0].seconds;
    d->shown = (Shown){ 0 };
    scale_widen(&y, 1);
    scale_widen(&y, 1.1);
    for (int i = 0; i < t->candidate.n; i++) {
        const Candidate *c = &t->candidate.at[i];
        if (was_timed(c) || was_removed(c))
            vec_push(d->arena, &d->shown, c);
        if (was_timed(c))
            scale_widen(&y, fmin(highest, c->seconds / d->default_seconds));
    }
    if (t->limit > 0)
        scale_widen(&y, t->limit / d->default_seconds);
    /* the default remains the first */
    qsort(d->shown.at + 1, (size_t)d->shown.n - 1, sizeof *d->shown.at,
          by_time);
    scale_widen(&x, 0);
    scale_widen(&x, fmax(1, d->shown.n - 1));
    scale_end(&x, false);
    scale_end(&y, false);
    d->plot = plot_new(&d->out, at, x, y);
}

/* Returns the point for a time. Times beyond the scale are at its upper end. */
static Point place_of(const Picture *d, int i, double seconds)
{
    return plot_point(&d->plot, i, fmin(highest, seconds / d->default_seconds));
}

static void put_grid(const Picture *d)
{
    double tick[MostTicks];
    plot_grid_x(&d->plot, tick,
                scale_ticks(&d->plot.x, (int)fmin(5, fmax(1, d->shown.n - 1)),
                            tick),
                true);
    plot_grid_y(&d->plot, 4, true);
    plot_edge(&d->plot);
}

/* ---- marks ---- */
static const char *tip_text(const Picture *d, const Candidate *c)
{
    const char *what = status_word[c->status];
    if (was_timed(c))
        what = arena_printf(d->arena, "%s, %.3f of the default, rung %d",
                            seconds_text(d->arena, c->seconds),
                            c->seconds / d->default_seconds, c->rung);
    return arena_printf(d->arena, "%s: %s%s%s",
                        tiling_text(d->arena, &c->tiling), what,
                        *c->why ? ", " : "", c->why);
}

static void put_marks(Picture *d)
{
    for (int i = 0; i < d->shown.n; i++) {
        const Candidate *c = d->shown.at[i];
        if (was_timed(c))
            svg_mark(&d->out, "dot",
                     c->seconds > highest * d->default_seconds ? MarkTriangle
                                                               : MarkDot,
                     0.8, place_of(d, i, c->seconds), tip_text(d, c));
        else
            svg_mark(&d->out, "removed", MarkCross, 1,
                     (Point){ place_of(d, i, 0).x, d->plot.at.y + 6 },
                     tip_text(d, c));
    }
}

static void put_lines(Picture *d)
{
    const Area *at = &d->plot.at;
    double best = d->default_seconds;
    if (d->t->limit > 0) {
        buffer_printf(&d->out, "<path class=\"limit\" d=\"M%.1f %.1fh%g\">",
                      at->x, place_of(d, 0, d->t->limit).y, at->w);
        svg_tip(&d->out, "limit: %s", seconds_text(d->arena, d->t->limit));
        buffer_printf(&d->out, "</path>\n");
    }
    Point to = place_of(d, 0, best);
    buffer_printf(&d->out, "<path class=\"front\" d=\"M%.1f %.1f", to.x, to.y);
    for (int i = 1; i < d->shown.n; i++) {
        const Candidate *c = d->shown.at[i];
        if (!was_timed(c) || c->seconds >= best)
            continue;
        best = c->seconds;
        to = place_of(d, i, best);
        buffer_printf(&d->out, "H%.1fV%.1f", to.x, to.y);
    }
    buffer_printf(&d->out, "H%.1f\"/>\n", at->x + at->w);
}

/* Draws a square around the default and a ring around the chosen candidate. */
static void put_chosen(Picture *d)
{
    const Candidate *best = task_stands(d->t);
    svg_mark(&d->out, "default", MarkSquare, 1,
             place_of(d, 0, d->default_seconds), NULL);
    for (int i = 0; i < d->shown.n; i++)
        if (d->shown.at[i] == best && was_timed(best))
            svg_mark(&d->out, "front", MarkRing, 1,
                     place_of(d, i, best->seconds), NULL);
}

/* If another candidate seems faster than the chosen one, prints the reason why
 * it was not chosen below the plot. */
static void put_reason(Picture *d)
{
    const Candidate *stands = task_stands(d->t);
    if (!stands || !was_timed(stands) || task_fastest(d->t) >= stands->seconds)
        return;
    svg_text(&d->out, "soft", d->plot.at.x - plot_left,
             d->plot.at.y + plot_height + 30, "%s",
             d->t->taken_back  ? "taken back: slower end to end"
             : !d->t->finished ? "no time for pairs: the default stays"
                               : "others look faster; fresh pairs decide");
}

static void put_plot(Picture *d, const TuneReport *r, const TuneTask *t, int i)
{
    const Area at = { page_edge
                          + i % d->across * (plot_left + plot_width + apart)
                          + plot_left,
                      top + i / d->across * (head + plot_height + below) + head,
                      plot_width, plot_height };
    const char *state = task_state(t);
    const char *name = task_text(d->arena, &t->task->key);
    if (d->r->other)
        name = arena_printf(d->arena, "%s: %s", backend_word(r), name);
    svg_text(&d->out, "b", at.x - plot_left, at.y - 22, "%.*s", Letters, name);
    const char *share = arena_printf(d->arena, "%.1f %% of the time; ",
                                     100 * t->share);
    svg_text(&d->out, "soft", at.x - plot_left, at.y - 8, "%s%s",
             isfinite(t->share) ? share : "",
             state ? state : gain_text(d->arena, task_gain(t)));
    measure_chart(d, t, at);
    put_grid(d);
    put_lines(d);
    put_marks(d);
    put_chosen(d);
    put_reason(d);
}

/* ---- the whole ---- */
static void put_legend(Picture *d)
{
    Legend l = { &d->out, page_edge, d->width - page_edge, page_edge, 66 };
    legend_mark(&l, "dot", MarkDot, "candidate");
    legend_mark(&l, "default", MarkSquare, "default");
    legend_mark(&l, "front", MarkRing, "chosen");
    legend_mark(&l, "removed", MarkCross, "removed");
    legend_mark(&l, "dot", MarkTriangle,
                arena_printf(d->arena, "over %g x default", highest));
    legend_add(&l, "<path class=\"front\" d=\"M0 -4h12\"/>", "best so far");
    legend_add(&l, "<path class=\"limit\" d=\"M0 -4h12\"/>", "limit");
    svg_text(&d->out, "soft", page_edge, d->height - page_edge / 2,
             "y: time of a run / the default's; x: candidates, as they were "
             "timed");
}

const char *draw_tune(const TuneReport *r)
{
    Picture d = { .out = { .arena = r->arena }, .r = r, .arena = r->arena };
    int plot = 0, tasks = 0;
    for (const TuneReport *o = r; o; tasks += o->task.n, o = o->other)
        for (int i = 0; i < o->task.n; i++)
            d.plots += timed_any(&o->task.at[i]);
    d.across = d.plots > 4 ? 3 : 2;
    d.width = 2 * page_edge + d.across * (plot_left + plot_width + apart)
            - apart;
    d.height = top + page_edge
             + (d.plots + d.across - 1) / d.across
                   * (head + plot_height + below);
    const char *text = arena_printf(
        d.arena, "%s, %s, %d thread%s: %d of %d task%s timed in %s%s",
        r->host.cpu, r->host.isa, r->host.threads, plural(r->host.threads),
        d.plots, tasks, plural(tasks), seconds_text(d.arena, r->seconds),
        r->interrupted ? ", interrupted"
        : r->rejected  ? ", rejected: slower end to end"
                       : "");
    page_begin(&d.out, &(PageHead){ .name = r->engine->spec->name,
                                    .what = "its tuning",
                                    .text = text,
                                    .sheet = arena_printf(d.arena, "%s%s",
                                                          plot_sheet, sheet),
                                    .width = d.width,
                                    .height = d.height });
    for (const TuneReport *o = r; o; o = o->other)
        for (int i = 0; i < o->task.n; i++)
            if (timed_any(&o->task.at[i]))
                put_plot(&d, o, &o->task.at[i], plot++);
    put_legend(&d);
    return page_end(&d.out);
}
