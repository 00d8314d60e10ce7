/* draw_tune.c: the search of a tuning as SVG, a small plot for each task: when
 * a candidate was timed against the time of its run, as a part of the
 * default's. Colours follow the reader's light or dark; shapes say the same. */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "tune.h"

enum {                           /* pixels */
    Edge = 16, Top = 96, PlotWidth = 270, PlotHeight = 150, Left = 40,
    Head = 40, Below = 44, Apart = 28, Rail = 12, Letter = 7,
    /* others */
    Letters = (Left + PlotWidth) / Letter
};
static const double highest = 2; /* times the default: the rest is at the top */

typedef struct {
    FILE *out;
    Arena *arena;
    const TuneReport *r;
    int across, down;            /* plots */
    int width, height;
} Picture;

typedef struct {                 /* the plot of one task */
    const TuneTask *t;
    double usual;                /* seconds of the default's run */
    double x[2], y[2];           /* seconds of the tuning; parts of usual */
    VEC(const Candidate *) timed;        /* in the order of time */
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

/* --------------------------------------------------------------- points --- */
static bool known(const Candidate *c)
{
    return c->fate == FateTimed && c->seconds > 0 && isfinite(c->seconds)
        && isfinite(c->when);
}

static int by_time(const void *a, const void *b)
{
    const Candidate *x = *(const Candidate *const *)a;
    const Candidate *y = *(const Candidate *const *)b;
    return (x->when > y->when) - (x->when < y->when);
}

/* False: nothing to be seen. */
static bool measure(Picture *d, Plot *p)
{
    const TuneTask *t = p->t;
    double least = 1, most = 1.1;
    if (t->candidate.n == 0 || !known(&t->candidate.at[0]))
        return false;
    p->usual = t->candidate.at[0].seconds;
    p->x[0] = p->x[1] = t->candidate.at[0].when;
    for (int i = 0; i < t->candidate.n; i++) {
        const Candidate *c = &t->candidate.at[i];
        if (!known(c))
            continue;
        vec_push(d->arena, &p->timed, c);
        p->x[0] = fmin(p->x[0], c->when);
        p->x[1] = fmax(p->x[1], c->when);
        least = fmin(least, c->seconds / p->usual);
        most = fmax(most, c->seconds / p->usual);
    }
    if (t->limit > 0)
        least = fmin(least, t->limit / p->usual);
    p->x[1] = fmax(p->x[1], p->x[0] + 0.1);
    p->y[0] = fmax(0, least - 0.05);
    p->y[1] = fmin(most + 0.05, highest);
    qsort(p->timed.at, (size_t)p->timed.n, sizeof *p->timed.at, by_time);
    return true;
}

static double across(const Plot *p, double when)
{
    const double part = (when - p->x[0]) / (p->x[1] - p->x[0]);
    return 4 + (double)(PlotWidth - 8) * fmin(1, fmax(0, part));
}

/* The rail above is for those that were removed. */
static double down(const Plot *p, double part)
{
    const double high = (p->y[1] - part) / (p->y[1] - p->y[0]);
    return (double)Rail + (double)(PlotHeight - Rail) * fmin(1, fmax(0, high));
}

/* ---------------------------------------------------------------- grid --- */
/* 1, 2 or 5 times a power of ten: about `n` steps in the range. */
static double step_of(double range, int n)
{
    const double raw = range / n, ten = pow(10, floor(log10(raw)));
    return ten * (raw > 5 * ten ? 10 : raw > 2 * ten ? 5 : raw > ten ? 2 : 1);
}

static void put_grid(const Picture *d, const Plot *p)
{
    const double dx = step_of(p->x[1] - p->x[0], 5);
    const double dy = step_of(p->y[1] - p->y[0], 4);
    fprintf(d->out, "<g class=\"grid\">\n");
    for (double y = ceil(p->y[0] / dy) * dy; y <= p->y[1] + 1e-9; y += dy)
        fprintf(d->out, "<path d=\"M0 %.1fh%d\"/>\n", down(p, y), PlotWidth);
    fprintf(d->out, "</g>\n<rect class=\"edge\" width=\"%d\" height=\"%d\"/>\n"
            "<g font-size=\"10\">\n", PlotWidth, PlotHeight);
    for (double y = ceil(p->y[0] / dy) * dy; y <= p->y[1] + 1e-9; y += dy)
        fprintf(d->out, "<text x=\"-5\" y=\"%.1f\" text-anchor=\"end\">%.3g"
                "</text>\n", down(p, y) + 3.5, y);
    for (double x = 0; x <= p->x[1] - p->x[0] + 1e-9; x += dx)
        fprintf(d->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g"
                "</text>\n", across(p, p->x[0] + x), PlotHeight + 13, x);
    fputs("</g>\n", d->out);
}

/* --------------------------------------------------------------- marks --- */
static void put_tip(const Picture *d, const Plot *p, const Candidate *c)
{
    fprintf(d->out, "<title>%s: ", tiling_text(d->arena, &c->tiling));
    if (known(c))
        fprintf(d->out, "%s, %.3f of the default, round %d",
                seconds_text(d->arena, c->seconds), c->seconds / p->usual,
                c->round);
    else
        fputs(fate_word[c->fate], d->out);
    if (*c->why) {
        fputs(", ", d->out);
        svg_plain(d->out, plain_text(d->arena, c->why));
    }
    fputs("</title>", d->out);
}

/* What is slower than the plot shows is a triangle at its top. */
static void put_dots(const Picture *d, const Plot *p)
{
    for (int i = 0; i < p->timed.n; i++) {
        const Candidate *c = p->timed.at[i];
        const double x = across(p, c->when), part = c->seconds / p->usual;
        const double y = down(p, part);
        if (part > p->y[1])
            fprintf(d->out, "<path class=\"dot\" d=\"M%.1f %.1fl4 7h-8z\">", x,
                    y);
        else
            fprintf(d->out, "<path class=\"dot\" d=\"M%.1f %.1f"
                    "a3 3 0 1 1 -6 0a3 3 0 1 1 6 0z\">", x + 3, y);
        put_tip(d, p, c);
        fputs("</path>\n", d->out);
    }
}

static void put_cross(const Picture *d, double x, double y)
{
    fprintf(d->out, "<path class=\"removed\" d=\"M%.1f %.1fl6 6m0 -6l-6 6\">",
            x - 3, y - 3);
}

static void put_removed(const Picture *d, const Plot *p)
{
    for (int i = 0; i < p->t->candidate.n; i++) {
        const Candidate *c = &p->t->candidate.at[i];
        if (!fate_removed(c))
            continue;
        put_cross(d, across(p, isfinite(c->when) ? c->when : p->x[0]), 6);
        put_tip(d, p, c);
        fputs("</path>\n", d->out);
    }
}

static void put_lines(const Picture *d, const Plot *p)
{
    double best = p->timed.at[0]->seconds;
    if (p->t->limit > 0)
        fprintf(d->out, "<path class=\"limit\" d=\"M0 %.1fh%d\"><title>limit: "
                "%s</title></path>\n", down(p, p->t->limit / p->usual),
                PlotWidth, seconds_text(d->arena, p->t->limit));
    fprintf(d->out, "<path class=\"best\" d=\"M%.1f %.1f",
            across(p, p->timed.at[0]->when), down(p, best / p->usual));
    for (int i = 1; i < p->timed.n; i++) {
        const Candidate *c = p->timed.at[i];
        if (c->seconds < best)
            fprintf(d->out, "H%.1fV%.1f", across(p, c->when),
                    down(p, c->seconds / p->usual));
        best = fmin(best, c->seconds);
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
    fprintf(d->out, "<circle class=\"best\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/>"
            "\n", x, y);
}

static void put_chosen(const Picture *d, const Plot *p)
{
    const Candidate *usual = task_usual(p->t), *best = task_best(p->t);
    put_square(d, across(p, usual->when), down(p, 1));
    if (best && known(best))
        put_ring(d, across(p, best->when), down(p, best->seconds / p->usual));
}

static void put_plot(Picture *d, int i)
{
    const TuneTask *t = &d->r->task.at[i];
    const int x = Edge + i % d->across * (Left + PlotWidth + Apart) + Left;
    const int y = Top + i / d->across * (Head + PlotHeight + Below) + Head;
    Plot p = { .t = t };
    const bool seen = measure(d, &p);
    fprintf(d->out, "<g transform=\"translate(%d %d)\">\n<text x=\"%d\" "
            "y=\"-22\" font-weight=\"bold\">", x, y, -Left);
    svg_plain(d->out, plain_text(d->arena, arena_printf(d->arena, "%.*s",
              Letters, task_text(d->arena, &t->task->key))));
    fprintf(d->out, "</text>\n<text class=\"soft\" x=\"%d\" y=\"-8\">", -Left);
    if (isfinite(t->share))
        fprintf(d->out, "%.1f %% of the time; ", 100 * t->share);
    const char *state = task_state(t);
    fprintf(d->out, "%s</text>\n", state ? state
                                         : gain_text(d->arena, task_gain(t)));
    if (seen) {
        put_grid(d, &p);
        put_lines(d, &p);
        put_dots(d, &p);
        put_removed(d, &p);
        put_chosen(d, &p);
    } else {
        fprintf(d->out, "<rect class=\"edge\" width=\"%d\" height=\"%d\"/>\n"
                "<text class=\"soft\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">"
                "nothing was timed</text>\n", PlotWidth, PlotHeight,
                PlotWidth / 2, PlotHeight / 2);
    }
    fputs("</g>\n", d->out);
}

/* ---------------------------------------------------------- the whole --- */
static void put_legend(const Picture *d)
{
    const int y = 70;
    int x = Edge + 6;
    fprintf(d->out, "<path class=\"dot\" d=\"M%d %da3 3 0 1 1 -6 0"
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
    fprintf(d->out, "<path class=\"best\" d=\"M%d %dh20\"/><text x=\"%d\" "
            "y=\"%d\">best so far</text>\n", x, y, x + 26, y + 4);
    x += 116;
    fprintf(d->out, "<path class=\"limit\" d=\"M%d %dh20\"/><text x=\"%d\" "
            "y=\"%d\">limit</text>\n", x, y, x + 26, y + 4);
    fprintf(d->out, "<text class=\"soft\" x=\"%d\" y=\"%d\">y: time of a run "
            "/ the default's; x: seconds into the search</text>\n", Edge,
            d->height - Edge / 2);
}

static void put_head(const Picture *d)
{
    const TuneReport *r = d->r;
    fprintf(d->out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" "
            "font-size=\"11\" role=\"img\">\n<title>tuning of %s</title>\n%s"
            "<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n<text "
            "x=\"%d\" y=\"24\" font-size=\"15\" font-weight=\"bold\">tuning of "
            "%s</text>\n<text x=\"%d\" y=\"44\">", d->width, d->height,
            d->width, d->height, r->engine->spec->name, style, Edge,
            r->engine->spec->name, Edge);
    svg_plain(d->out, plain_text(d->arena, r->host.cpu));
    fputs(", ", d->out);
    svg_plain(d->out, plain_text(d->arena, r->host.isa));
    fprintf(d->out, ", %d thread%s: %d task%s in %s%s</text>\n",
            r->host.threads, r->host.threads == 1 ? "" : "s",
            r->task.n, r->task.n == 1 ? "" : "s",
            seconds_text(d->arena, r->seconds),
            r->interrupted ? ", interrupted" : r->rejected
            ? ", rejected: slower end to end" : "");
}

char *draw_tune(const TuneReport *r, size_t *size)
{
    char *text = NULL;
    Picture d = { .out = open_memstream(&text, size), .r = r,
                  .arena = arena_new() };
    if (!d.out)
        fail(ExitResource, "out of memory for a picture");
    d.across = r->task.n > 4 ? 3 : 2;
    d.down = (r->task.n + d.across - 1) / d.across;
    d.width = 2 * Edge + d.across * (Left + PlotWidth + Apart) - Apart;
    d.height = Top + d.down * (Head + PlotHeight + Below) + Edge;
    put_head(&d);
    for (int i = 0; i < r->task.n; i++)
        put_plot(&d, i);
    put_legend(&d);
    fputs("</svg>\n", d.out);
    if (fclose(d.out) != 0)
        fail(ExitResource, "out of memory for a picture");
    arena_free(d.arena);
    return text;
}
