/* draw_tune.c: the search of a tuning as SVG, a small plot for each task: its
 * candidates in the order in which they were first timed, or removed, against
 * the time of a run, as a part of the default's. Colours follow the reader's
 * light or dark; shapes say the same.                                        */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "tune/tune_report.h"

/* pixels */
enum {
    Edge = 16,
    Top = 96,
    PlotWidth = 270,
    PlotHeight = 150,
    Left = 40,
    Head = 40,
    Below = 58,
    Apart = 28,
    Rail = 12,
    Letter = 7,
    /* others */
    Letters = (Left + PlotWidth) / Letter
};
static const double highest = 2; /* times the default: the rest is at the top */

typedef struct {
    FILE *out;
    Arena *arena;
    const TuneReport *r;
    int plots, across, down; /* of tasks that were timed */
    int width, height;
} Picture;

typedef struct { /* the plot of one task */
    const TuneTask *t;
    double usual;                 /* seconds of the default's run */
    double y[2];                  /* parts of usual */
    VEC(const Candidate *) shown; /* in the order of time */
} Plot;

/* Colours that the colour-blind tell apart too [Okabe and Ito 2008]. */
static const char style[] =
    "<style>\n"
    ".ground{fill:#fff}text{fill:#222}.soft{fill:#666}\n"
    ".grid{stroke:#ddd;fill:none}.edge{stroke:#999;fill:none}\n"
    ".dot{fill:#0072b2;fill-opacity:.6}\n"
    ".best{stroke:#c04f00;stroke-width:2;fill:none}\n"
    ".limit{stroke:#007a5a;stroke-width:2;stroke-dasharray:6 4;fill:none}\n"
    ".usual,.removed{stroke:#222;stroke-width:1.6;fill:none}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".ground{fill:#16181c}text{fill:#e6e6e6}.soft{fill:#a0a0a0}\n"
    ".grid{stroke:#33363c}.edge{stroke:#777}.dot{fill:#56b4e9}\n"
    ".best{stroke:#f0a030}.limit{stroke:#35c49a}\n"
    ".usual,.removed{stroke:#e6e6e6}}\n"
    "</style>\n";

/* ---- points ---- */
static double when(const Candidate *c)
{
    return isnan(c->when) ? 0 : c->when;
}

static int by_time(const void *a, const void *b)
{
    const Candidate *x = *(const Candidate *const *)a;
    const Candidate *y = *(const Candidate *const *)b;
    if (when(x) < when(y) || when(x) > when(y))
        return when(x) < when(y) ? -1 : 1;
    return (x > y) - (x < y);
}

static bool timed_any(const TuneTask *t)
{
    return t->candidate.n > 0 && !t->reused && was_timed(&t->candidate.at[0]);
}

static void measure_chart(Picture *d, Plot *p)
{
    const TuneTask *t = p->t;
    double least = 1, most = 1.1;
    p->usual = t->candidate.at[0].seconds;
    for (int i = 0; i < t->candidate.n; i++) {
        const Candidate *c = &t->candidate.at[i];
        if (was_timed(c) || was_removed(c))
            vec_push(d->arena, &p->shown, c);
        if (!was_timed(c))
            continue;
        least = fmin(least, c->seconds / p->usual);
        most = fmax(most, c->seconds / p->usual);
    }
    if (t->limit > 0)
        least = fmin(least, t->limit / p->usual);
    p->y[0] = fmax(0, least - 0.05);
    p->y[1] = fmin(most + 0.05, highest);
    /* the default stays the first */
    qsort(p->shown.at + 1, (size_t)p->shown.n - 1, sizeof *p->shown.at,
          by_time);
}

static double across(const Plot *p, int i)
{
    return 8
         + (double)(PlotWidth - 16) * i / (p->shown.n > 1 ? p->shown.n - 1 : 1);
}

/* The rail above is for those that were removed. */
static double down(const Plot *p, double part)
{
    const double high = (p->y[1] - part) / (p->y[1] - p->y[0]);
    return (double)Rail + (double)(PlotHeight - Rail) * fmin(1, fmax(0, high));
}

/* ---- grid ---- */

/* 1, 2 or 5 times a power of ten: about `n` steps in the range. */
static double step_of(double range, int n)
{
    const double raw = range / n, ten = pow(10, floor(log10(raw)));
    return ten * (raw > 5 * ten ? 10 : raw > 2 * ten ? 5 : raw > ten ? 2 : 1);
}

static void put_grid(const Picture *d, const Plot *p)
{
    const int dx = (int)fmax(1, step_of(p->shown.n, 5));
    const double dy = step_of(p->y[1] - p->y[0], 4);
    fprintf(d->out, "<g class=\"grid\">\n");
    for (double y = ceil(p->y[0] / dy) * dy; y <= p->y[1] + 1e-9; y += dy)
        fprintf(d->out, "<path d=\"M0 %.1fh%d\"/>\n", down(p, y), PlotWidth);
    fprintf(d->out,
            "</g>\n<rect class=\"edge\" width=\"%d\" height=\"%d\"/>\n"
            "<g font-size=\"10\">\n",
            PlotWidth, PlotHeight);
    for (double y = ceil(p->y[0] / dy) * dy; y <= p->y[1] + 1e-9; y += dy)
        fprintf(d->out,
                "<text x=\"-5\" y=\"%.1f\" text-anchor=\"end\">%.3g"
                "</text>\n",
                down(p, y) + 3.5, y);
    for (int i = 0; i < p->shown.n; i += dx)
        fprintf(d->out,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d"
                "</text>\n",
                across(p, i), PlotHeight + 13, i);
    fputs("</g>\n", d->out);
}

/* ---- marks ---- */
static void put_tip(const Picture *d, const Plot *p, const Candidate *c)
{
    fprintf(d->out, "<title>%s: ", tiling_text(d->arena, &c->tiling));
    if (was_timed(c))
        fprintf(d->out, "%s, %.3f of the default, rung %d",
                seconds_text(d->arena, c->seconds), c->seconds / p->usual,
                c->rung);
    else
        fputs(status_word[c->status], d->out);
    if (*c->why) {
        fputs(", ", d->out);
        svg_plain(d->out, plain_text(d->arena, c->why));
    }
    fputs("</title>", d->out);
}

/* What is slower than the plot shows is a triangle at its top. */
static void put_dot(const Picture *d, const Plot *p, const Candidate *c,
                    double x)
{
    const double part = c->seconds / p->usual, y = down(p, part);
    if (part > p->y[1])
        fprintf(d->out, "<path class=\"dot\" d=\"M%.1f %.1fl4 7h-8z\">", x, y);
    else
        fprintf(d->out,
                "<path class=\"dot\" d=\"M%.1f %.1f"
                "a3 3 0 1 1 -6 0a3 3 0 1 1 6 0z\">",
                x + 3, y);
}

static void put_cross(const Picture *d, double x, double y)
{
    fprintf(d->out, "<path class=\"removed\" d=\"M%.1f %.1fl6 6m0 -6l-6 6\">",
            x - 3, y - 3);
}

static void put_marks(const Picture *d, const Plot *p)
{
    for (int i = 0; i < p->shown.n; i++) {
        const Candidate *c = p->shown.at[i];
        if (was_timed(c))
            put_dot(d, p, c, across(p, i));
        else
            put_cross(d, across(p, i), 6);
        put_tip(d, p, c);
        fputs("</path>\n", d->out);
    }
}

static void put_lines(const Picture *d, const Plot *p)
{
    double best = p->usual;
    if (p->t->limit > 0)
        fprintf(d->out,
                "<path class=\"limit\" d=\"M0 %.1fh%d\"><title>limit: "
                "%s</title></path>\n",
                down(p, p->t->limit / p->usual), PlotWidth,
                seconds_text(d->arena, p->t->limit));
    fprintf(d->out, "<path class=\"best\" d=\"M%.1f %.1f", across(p, 0),
            down(p, 1));
    for (int i = 1; i < p->shown.n; i++) {
        const Candidate *c = p->shown.at[i];
        if (!was_timed(c) || c->seconds >= best)
            continue;
        best = c->seconds;
        fprintf(d->out, "H%.1fV%.1f", across(p, i), down(p, best / p->usual));
    }
    fprintf(d->out, "H%d\"/>\n", PlotWidth);
}

/* The default is in a square, what was chosen in a ring. */
static void put_square(const Picture *d, double x, double y)
{
    fprintf(d->out, "<path class=\"usual\" d=\"M%.1f %.1fh10v10h-10z\"/>\n",
            x - 5, y - 5);
}

static void put_ring(const Picture *d, double x, double y)
{
    fprintf(d->out,
            "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>"
            "\n",
            x, y);
}

static void put_chosen(const Picture *d, const Plot *p)
{
    const Candidate *best = task_stands(p->t);
    put_square(d, across(p, 0), down(p, 1));
    for (int i = 0; i < p->shown.n; i++)
        if (p->shown.at[i] == best && was_timed(best))
            put_ring(d, across(p, i), down(p, best->seconds / p->usual));
}

/* Fastest of those that were timed; it need not be what was chosen. */
static const Candidate *fastest_candidate(const Plot *p)
{
    const Candidate *best = p->shown.at[0];
    for (int i = 1; i < p->shown.n; i++)
        if (was_timed(p->shown.at[i])
            && p->shown.at[i]->seconds < best->seconds)
            best = p->shown.at[i];
    return best;
}

/* Under a plot where another candidate is below the chosen one. */
static void put_reason(const Picture *d, const Plot *p)
{
    const Candidate *stands = task_stands(p->t), *best = fastest_candidate(p);
    if (!stands || !was_timed(stands) || best == stands
        || best->seconds >= stands->seconds)
        return;
    const char *why = p->t->taken_back ? "taken back: slower end to end"
                    : !p->t->finished
                        ? "no time for pairs: the default stays"
                        : "others look faster; fresh pairs decide";
    fprintf(d->out, "<text class=\"soft\" x=\"%d\" y=\"%d\">%s</text>\n", -Left,
            PlotHeight + 28, why);
}

static void put_plot(Picture *d, const TuneReport *r, const TuneTask *t, int i)
{
    const int x = Edge + i % d->across * (Left + PlotWidth + Apart) + Left;
    const int y = Top + i / d->across * (Head + PlotHeight + Below) + Head;
    const char *state = task_state(t);
    Plot p = { .t = t };
    measure_chart(d, &p);
    fprintf(d->out,
            "<g transform=\"translate(%d %d)\">\n<text x=\"%d\" "
            "y=\"-22\" font-weight=\"bold\">",
            x, y, -Left);
    const char *name = task_text(d->arena, &t->task->key);
    if (d->r->other)
        name = arena_printf(d->arena, "%s: %s", backend_word(r), name);
    svg_plain(d->out, plain_text(d->arena, arena_printf(d->arena, "%.*s",
                                                        Letters, name)));
    fprintf(d->out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"-8\">", -Left);
    if (isfinite(t->share))
        fprintf(d->out, "%.1f %% of the time; ", 100 * t->share);
    fprintf(d->out, "%s</text>\n",
            state ? state : gain_text(d->arena, task_gain(t)));
    put_grid(d, &p);
    put_lines(d, &p);
    put_marks(d, &p);
    put_chosen(d, &p);
    put_reason(d, &p);
    fputs("</g>\n", d->out);
}

/* ---- the whole ---- */
static void put_legend(const Picture *d)
{
    const int y = 70;
    int x = Edge + 6;
    fprintf(d->out,
            "<path class=\"dot\" d=\"M%d %da3 3 0 1 1 -6 0"
            "a3 3 0 1 1 6 0z\"/><text x=\"%d\" y=\"%d\">candidate</text>\n",
            x + 3, y, x + 12, y + 4);
    put_square(d, x += 96, y);
    fprintf(d->out, "<text x=\"%d\" y=\"%d\">default</text>\n", x + 12, y + 4);
    put_ring(d, x += 84, y);
    fprintf(d->out, "<text x=\"%d\" y=\"%d\">chosen</text>\n", x + 12, y + 4);
    put_cross(d, x += 76, y);
    fprintf(d->out, "</path><text x=\"%d\" y=\"%d\">removed</text>\n", x + 10,
            y + 4);
    x += 74;
    fprintf(d->out,
            "<path class=\"dot\" d=\"M%d %dl4 7h-8z\"/><text x=\"%d\" "
            "y=\"%d\">over %g x default</text>\n",
            x, y - 4, x + 10, y + 4, highest);
    x += 136;
    fprintf(d->out,
            "<path class=\"best\" d=\"M%d %dh20\"/><text x=\"%d\" "
            "y=\"%d\">best so far</text>\n",
            x, y, x + 26, y + 4);
    x += 116;
    fprintf(d->out,
            "<path class=\"limit\" d=\"M%d %dh20\"/><text x=\"%d\" "
            "y=\"%d\">limit</text>\n",
            x, y, x + 26, y + 4);
    fprintf(d->out,
            "<text class=\"soft\" x=\"%d\" y=\"%d\">y: time of a run "
            "/ the default's; x: candidates, as they were timed</text>\n",
            Edge, d->height - Edge / 2);
}

static void draw_tune_head(const Picture *d)
{
    const TuneReport *r = d->r;
    int tasks = 0;
    for (const TuneReport *o = r; o; o = o->other)
        tasks += o->task.n;
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" "
            "font-size=\"11\" role=\"img\">\n<title>tuning of %s</title>\n%s"
            "<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n<text "
            "x=\"%d\" y=\"24\" font-size=\"15\" font-weight=\"bold\">tuning of "
            "%s</text>\n<text x=\"%d\" y=\"44\">",
            d->width, d->height, d->width, d->height, r->engine->spec->name,
            style, Edge, r->engine->spec->name, Edge);
    svg_plain(d->out, plain_text(d->arena, r->host.cpu));
    fputs(", ", d->out);
    svg_plain(d->out, plain_text(d->arena, r->host.isa));
    fprintf(d->out, ", %d thread%s: %d of %d task%s timed in %s%s</text>\n",
            r->host.threads, r->host.threads == 1 ? "" : "s", d->plots, tasks,
            tasks == 1 ? "" : "s", seconds_text(d->arena, r->seconds),
            r->interrupted ? ", interrupted"
            : r->rejected  ? ", rejected: slower end to end"
                           : "");
}

char *draw_tune(const TuneReport *r, size_t *size)
{
    char *text = NULL;
    Picture d = { .out = open_memstream(&text, size),
                  .r = r,
                  .arena = arena_new() };
    if (!d.out)
        fail(ExitResource, "out of memory for a picture");
    for (const TuneReport *o = r; o; o = o->other)
        for (int i = 0; i < o->task.n; i++)
            d.plots += timed_any(&o->task.at[i]);
    d.across = d.plots > 4 ? 3 : 2;
    d.down = (d.plots + d.across - 1) / d.across;
    d.width = 2 * Edge + d.across * (Left + PlotWidth + Apart) - Apart;
    d.height = Top + d.down * (Head + PlotHeight + Below) + Edge;
    draw_tune_head(&d);
    int plot = 0;
    for (const TuneReport *o = r; o; o = o->other)
        for (int i = 0; i < o->task.n; i++)
            if (timed_any(&o->task.at[i]))
                put_plot(&d, o, &o->task.at[i], plot++);
    put_legend(&d);
    fputs("</svg>\n", d.out);
    if (fclose(d.out) != 0)
        fail(ExitResource, "out of memory for a picture");
    arena_free(d.arena);
    return text;
}
