/* draw_roofline.c: a bench report as SVG: FLOPs a byte against FLOPs a second,
 * both logarithmic, under the machine's roofs [Williams, Waterman and Patterson
 * 2009]. Workloads are large marks, kernels small ones with numbers, which the
 * legend explains.                                                           */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report.h"
#include "base/text.h"

/* pixels */
enum {
    Left = 68,
    Top = 70,
    PlotWidth = 640,
    PlotHeight = 470,
    Below = 56,
    Apart = 28,
    Line = 17,
    Letter = 7,
    Large = 7,
    Small = 4
};

typedef struct { /* a mark in the plot */
    const char *name, *op;
    int work, number;        /* number 0: the workload itself */
    double intensity, rate;  /* FLOP/byte, FLOP/s */
    double seconds, percent; /* of one run; of its limit */
    const char *bound;
} Point;

typedef struct {
    double x, y, width, height;
} Box;

typedef struct {
    FILE *out;
    Arena *arena;
    const BenchReport *r;
    VEC(Point) points;
    VEC(Box) taken;    /* by marks and numbers */
    double x[2], y[2]; /* decimal logarithms at the plot's edges */
    int width, height;
} Roofline;

/* Colours that the colour-blind tell apart too [Okabe and Ito 2008]; shapes
 * say the same.                                                              */
static const struct {
    const char *colour, *shape;
} marks[] = {
    { "#0072b2", "M-1 -1h2v2h-2z" },
    { "#d55e00", "M0 -1.3L1.3 0L0 1.3L-1.3 0z" },
    { "#007a5a", "M0 -1.2L1.2 1h-2.4z" },
};
enum { Marks = sizeof marks / sizeof marks[0] };
static const char *const dashes[Levels] = { "none", "9 4", "5 3 1 3", "2 3" };

/* -------------------------------------------------------------- points --- */
static void add_point(Roofline *d, Point p)
{
    if (p.intensity > 0 && isfinite(p.intensity) && p.rate > 0
        && isfinite(p.rate))
        vec_push(d->arena, &d->points, p);
}

static void add_workload(Roofline *d, int work)
{
    const BenchRow *row = &d->r->rows.at[work];
    const Cost c = row->work.sum;
    const double far = c.weights + c.cached;
    const double bytes = far > 0 ? far : c.values;
    add_point(d,
              (Point){ .name = row->work.name,
                       .work = work,
                       .intensity = c.flops / bytes,
                       .rate = c.flops / row->time.p50,
                       .seconds = row->time.p50,
                       .bound = bound_word(row->limit.bound),
                       .percent = 100.0 * row->limit.seconds / row->time.p50 });
}

/* The kernels of a search are those of the workloads before it. */
static void add_kernels(Roofline *d, int work, int *number)
{
    const KernelTimes *t = &d->r->kernels;
    const bool others = d->r->rows.at[work].work.of_others;
    for (int i = 0; t->of && !others && i < t->of[work].n; i++) {
        const KernelRow *k = &t->of[work].at[i];
        const Cost c = k->cost;
        const Limit limit = kernel_limit(d->r, work, k);
        if (!k->op || c.flops == 0.0 || k->seconds < 0.005 * t->p50[work])
            continue;
        add_point(d, (Point){ .name = k->name ? k->name : k->function,
                              .op = k->op,
                              .work = work,
                              .number = ++*number,
                              .intensity = c.flops / cost_bytes(c),
                              .rate = c.flops / k->seconds,
                              .seconds = k->seconds,
                              .bound = bound_word(limit.bound),
                              .percent = 100.0 * limit.seconds / k->seconds });
    }
}

/* ---------------------------------------------------------------- axes --- */
static void widen(double range[2], double value)
{
    range[0] = fmin(range[0], log10(value));
    range[1] = fmax(range[1], log10(value));
}

static void measure(Roofline *d)
{
    const Rates *r = &d->r->rates;
    size_t widest = 24;
    d->x[0] = d->y[0] = 1e9;
    d->x[1] = d->y[1] = -1e9;
    widen(d->x, r->fma / r->read[LevelL1]);
    widen(d->x, r->fma / r->read[LevelMemory]);
    widen(d->y, r->fma);
    for (int i = 0; i < d->points.n; i++) {
        const Point *p = &d->points.at[i];
        const size_t n = strlen(p->name) + (p->op ? strlen(p->op) : 0);
        widen(d->x, p->intensity);
        widen(d->y, p->rate);
        widest = n > widest ? n : widest;
    }
    for (int i = 0; i < 2; i++) {
        d->x[i] += i ? 0.2 : -0.2;
        d->y[i] += i ? 0.15 : -0.2;
    }
    const int legend = Line * (d->points.n + Levels + 4);
    d->width = Left + PlotWidth + Apart + Letter * ((int)widest + 19);
    d->height = Top + (PlotHeight > legend ? PlotHeight : legend) + Below;
}

static double across(const Roofline *d, double intensity)
{
    const double part = (log10(intensity) - d->x[0]) / (d->x[1] - d->x[0]);
    return (double)Left + (double)PlotWidth * part;
}

static double down(const Roofline *d, double rate)
{
    const double part = (d->y[1] - log10(rate)) / (d->y[1] - d->y[0]);
    return (double)Top + (double)PlotHeight * part;
}

static void put_grid(const Roofline *d)
{
    fprintf(d->out,
            "<g stroke=\"#ddd\" fill=\"none\"><rect x=\"%d\" y=\"%d\" "
            "width=\"%d\" height=\"%d\"/>\n",
            Left, Top, PlotWidth, PlotHeight);
    for (int k = (int)ceil(d->x[0]); k <= d->x[1]; k++)
        fprintf(d->out, "<path d=\"M%.1f %dv%d\"/>\n", across(d, pow(10, k)),
                Top, PlotHeight);
    for (int k = (int)ceil(d->y[0]); k <= d->y[1]; k++)
        fprintf(d->out, "<path d=\"M%d %.1fh%d\"/>\n", Left,
                down(d, pow(10, k)), PlotWidth);
    fputs("</g>\n", d->out);
    for (int k = (int)ceil(d->x[0]); k <= d->x[1]; k++)
        fprintf(d->out,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g"
                "</text>\n",
                across(d, pow(10, k)), Top + PlotHeight + Line, pow(10, k));
    for (int k = (int)ceil(d->y[0]); k <= d->y[1]; k++)
        fprintf(d->out,
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g"
                "</text>\n",
                Left - 6, down(d, pow(10, k)) + 4, pow(10, k - 9));
    fprintf(d->out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOP/byte"
            "</text>\n<text transform=\"translate(18 %d) rotate(-90)\" "
            "text-anchor=\"middle\">GFLOP/s</text>\n",
            Left + PlotWidth / 2, Top + PlotHeight + 2 * Line + 4,
            Top + PlotHeight / 2);
}

/* --------------------------------------------------------------- roofs --- */
static void put_roofs(const Roofline *d)
{
    const Rates *r = &d->r->rates;
    const double least = pow(10, d->x[0]), floor = pow(10, d->y[0]);
    fputs("<g fill=\"none\" stroke=\"#555\" stroke-width=\"1.5\">\n", d->out);
    for (int i = 0; i < Levels; i++) {
        if (r->read[i] <= 0)
            continue;
        const double from = fmax(least, floor / r->read[i]);
        const double to = r->fma / r->read[i];
        fprintf(d->out,
                "<path stroke-dasharray=\"%s\" "
                "d=\"M%.1f %.1fL%.1f %.1f\"><title>%s: %.1f GB/s</title>"
                "</path>\n",
                dashes[i], across(d, from), down(d, from * r->read[i]),
                across(d, to), down(d, r->fma), level_name[i],
                1e-9 * r->read[i]);
    }
    fprintf(d->out,
            "<path stroke=\"#000\" stroke-width=\"2\" "
            "d=\"M%.1f %.1fH%d\"><title>FMA: %.1f GFLOP/s</title></path>\n"
            "</g>\n",
            across(d, r->fma / r->read[LevelL1]), down(d, r->fma),
            Left + PlotWidth, 1e-9 * r->fma);
}

/* --------------------------------------------------------------- marks --- */
static void put_mark(const Roofline *d, const Point *p, double x, double y,
                     bool tip)
{
    const int mark = p->work % Marks;
    fprintf(d->out,
            "<path transform=\"translate(%.1f %.1f) scale(%d)\" "
            "d=\"%s\" fill=\"%s\"%s>",
            x, y, p->number ? Small : Large, marks[mark].shape,
            marks[mark].colour,
            p->number ? " fill-opacity=\"0.75\""
                      : " stroke=\"#000\" "
                        "stroke-width=\"0.2\"");
    if (tip)
        fprintf(d->out,
                "<title>%s, %s%s%s: %.4g ms, %.4g GFLOP/s, %.3g "
                "FLOP/byte; %.0f %% of the limit (%s)</title>",
                d->r->rows.at[p->work].work.name,
                p->number ? p->name : "all of it", p->op ? ", " : "",
                p->op ? p->op : "", 1e3 * p->seconds, 1e-9 * p->rate,
                p->intensity, p->percent, p->bound);
    fputs("</path>\n", d->out);
}

static bool overlaps(const Box *a, const Box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width
        && a->y < b->y + b->height && b->y < a->y + a->height;
}

/* How many of those that are taken, or of the plot's edges, it meets. */
static int meets(const Roofline *d, const Box *b)
{
    const double left = Left, top = Top;
    const double right = Left + PlotWidth, bottom = Top + PlotHeight;
    int n = b->x < left || b->y < top || b->x + b->width > right
         || b->y + b->height > bottom;
    for (int i = 0; i < d->taken.n; i++)
        n += overlaps(&d->taken.at[i], b);
    return n;
}

/* The free place nearest to the mark, on rings around it. */
static Box place_number(const Roofline *d, double x, double y, double width)
{
    const double pi = 3.14159265358979;
    Box best = { 0 };
    int least = 1 << 30;
    for (int ring = 0; ring < 14 && least > 0; ring++)
        for (int k = 0; k < 16 && least > 0; k++) {
            const double away = 12 + 7 * ring, turn = 2 * pi * k / 16;
            const Box b = { x + away * cos(turn) - width / 2,
                            y - away * sin(turn) - 5, width, 11 };
            const int met = meets(d, &b);
            if (met < least) {
                least = met;
                best = b;
            }
        }
    return best;
}

static void take(Roofline *d, double x, double y, double radius)
{
    const Box b = { x - radius, y - radius, 2 * radius, 2 * radius };
    vec_push(d->arena, &d->taken, b);
}

static void put_numbers(Roofline *d)
{
    fputs("<g font-size=\"10\" text-anchor=\"middle\">\n", d->out);
    for (int i = 0; i < d->points.n; i++) {
        const Point *p = &d->points.at[i];
        const double x = across(d, p->intensity), y = down(d, p->rate);
        const Box b = place_number(d, x, y, p->number > 9 ? 15 : 9);
        const double to_x = b.x + b.width / 2, to_y = b.y + 5.5;
        if (!p->number)
            continue;
        vec_push(d->arena, &d->taken, b);
        if (hypot(to_x - x, to_y - y) > 15)
            fprintf(d->out,
                    "<path stroke=\"#999\" stroke-width=\"0.6\" "
                    "d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                    x, y, to_x, to_y);
        fprintf(d->out,
                "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" stroke=\"#fff"
                "\" stroke-width=\"2\" paint-order=\"stroke\">%d</text>\n",
                to_x, b.y + 9, marks[p->work % Marks].colour, p->number);
    }
    fputs("</g>\n", d->out);
}

static void put_points(Roofline *d)
{
    for (int i = 0; i < d->points.n; i++) {
        const Point *p = &d->points.at[i];
        take(d, across(d, p->intensity), down(d, p->rate),
             p->number ? Small : Large);
    }
    put_numbers(d);
    for (int small = 0; small <= 1; small++)
        for (int i = 0; i < d->points.n; i++) {
            const Point *p = &d->points.at[i];
            if ((p->number > 0) == small)
                put_mark(d, p, across(d, p->intensity), down(d, p->rate), true);
        }
}

/* -------------------------------------------------------------- legend --- */
static void put_legend(const Roofline *d)
{
    const Rates *r = &d->r->rates;
    const int x = Left + PlotWidth + Apart, text = x + 34;
    int y = Top + 6;
    fprintf(d->out,
            "<path stroke=\"#000\" stroke-width=\"2\" d=\"M%d %dh26\"/>"
            "<text x=\"%d\" y=\"%d\">FMA %.1f GFLOP/s</text>\n",
            x, y, text, y + 4, 1e-9 * r->fma);
    for (int i = 0; i < Levels; i++) {
        y += Line;
        fprintf(d->out,
                "<path stroke=\"#555\" stroke-width=\"1.5\" "
                "stroke-dasharray=\"%s\" d=\"M%d %dh26\"/><text x=\"%d\" "
                "y=\"%d\">%s %.1f GB/s</text>\n",
                dashes[i], x, y, text, y + 4, level_name[i], 1e-9 * r->read[i]);
    }
    y += 2 * Line;
    fprintf(d->out,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%% of limit"
            "</text>\n",
            d->width - 12, y + 4);
    for (int i = 0; i < d->points.n; i++) {
        const Point *p = &d->points.at[i];
        y += p->number ? Line : Line + (i > 0 ? 4 : 0);
        put_mark(d, p, x + 8, y, false);
        if (p->number)
            fprintf(d->out,
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%d"
                    "</text>\n",
                    text, y + 4, p->number);
        fprintf(d->out,
                "<text x=\"%d\" y=\"%d\"%s>%s%s%s</text><text "
                "x=\"%d\" y=\"%d\" text-anchor=\"end\">%.0f</text>\n",
                text + (p->number ? Letter : -Letter), y + 4,
                p->number ? "" : " font-weight=\"bold\"", p->name,
                p->op ? ": " : "", p->op ? p->op : "", d->width - 12, y + 4,
                p->percent);
    }
}

static void put_head(const Roofline *d)
{
    const BenchReport *r = d->r;
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" "
            "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#fff\"/>\n<text x=\"16\" y=\"24\" font-size=\"15\" "
            "font-weight=\"bold\">%s</text>\n<text x=\"16\" y=\"44\">",
            d->width, d->height, d->width, d->height, r->engine->spec->name);
    svg_plain(d->out, r->machine.cpu);
    fprintf(d->out, ": %s, %s, %d thread%s, batch of %lld, beam %lld</text>\n",
            backend_name(r), r->engine->target.name, r->threads,
            r->threads == 1 ? "" : "s", (long long)r->setup->options.batch,
            (long long)r->setup->options.beam);
}

char *draw_roofline(const BenchReport *r, size_t *size)
{
    char *text = NULL;
    int number = 0;
    Roofline d = { .out = open_memstream(&text, size),
                   .r = r,
                   .arena = arena_new() };
    if (!d.out)
        fail(ExitResource, "out of memory for a picture");
    for (int i = 0; i < r->rows.n; i++) {
        add_workload(&d, i);
        add_kernels(&d, i, &number);
    }
    measure(&d);
    put_head(&d);
    put_grid(&d);
    put_roofs(&d);
    put_points(&d);
    put_legend(&d);
    fputs("</svg>\n", d.out);
    if (fclose(d.out) != 0)
        fail(ExitResource, "out of memory for a picture");
    arena_free(d.arena);
    return text;
}
