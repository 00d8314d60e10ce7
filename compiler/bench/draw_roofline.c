/* draw_roofline.c: a bench report as SVG: FLOPs a byte against FLOPs a second,
 * both logarithmic, under the machine's roofs [Williams, Waterman and Patterson
 * 2009]. Workloads are large marks, kernels small ones with numbers, which the
 * legend explains.                                                           */
#define _POSIX_C_SOURCE 200809L  /* open_memstream */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_report.h"
#include "base/strings.h"

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

static const double digit = 12; /* a number's height, and some room */

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
static const char *const shapes[] = {
    "M-1 -1h2v2h-2z",
    "M0 -1.3L1.3 0L0 1.3L-1.3 0z",
    "M0 -1.2L1.2 1h-2.4z",
};
enum { Marks = sizeof shapes / sizeof shapes[0] };
static const char style[] =
    "<style>\n"
    ".ground{fill:#fff}text{fill:#222}.grid{stroke:#ddd;fill:none}\n"
    ".work0{fill:#0072b2}.work1{fill:#c04f00}.work2{fill:#007a5a}\n"
    ".roof{stroke:#555;stroke-width:1.5;fill:none}\n"
    ".peak{stroke:#000;stroke-width:2;fill:none}\n"
    ".large{stroke:#000;stroke-width:.2}.small{fill-opacity:.75}\n"
    ".lead{stroke:#999;stroke-width:.6;fill:none}\n"
    ".halo{stroke:#fff;stroke-width:2;paint-order:stroke}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".ground{fill:#16181c}text{fill:#e6e6e6}.grid{stroke:#33363c}\n"
    ".work0{fill:#56b4e9}.work1{fill:#f0a030}.work2{fill:#35c49a}\n"
    ".roof{stroke:#a0a0a0}.peak,.large{stroke:#e6e6e6}\n"
    ".lead{stroke:#777}.halo{stroke:#16181c}}\n"
    "</style>\n";
static const char *const dashes[Levels] = { "none", "9 4", "5 3 1 3", "2 3" };

/* ---- points ---- */
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
                       .intensity = cost_operations(c) / bytes,
                       .rate = cost_operations(c) / row->time.p50,
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
        if (!k->op || cost_operations(c) == 0.0
            || k->seconds < 0.005 * t->p50[work])
            continue;
        add_point(d,
                  (Point){ .name = k->name ? k->name : k->function,
                           .op = k->op,
                           .work = work,
                           .number = ++*number,
                           .intensity = cost_operations(c) / cost_traffic(&c),
                           .rate = cost_operations(c) / k->seconds,
                           .seconds = k->seconds,
                           .bound = bound_word(limit.bound),
                           .percent = 100.0 * limit.seconds / k->seconds });
    }
}

/* ---- axes ---- */
static void widen(double range[2], double value)
{
    range[0] = fmin(range[0], log10(value));
    range[1] = fmax(range[1], log10(value));
}

static void measure_plot(Roofline *d)
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
            "<g class=\"grid\"><rect x=\"%d\" y=\"%d\" "
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

/* ---- roofs ---- */
static void put_roofs(const Roofline *d)
{
    const Rates *r = &d->r->rates;
    const double least = pow(10, d->x[0]), floor = pow(10, d->y[0]);
    fputs("<g class=\"roof\">\n", d->out);
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
            "<path class=\"peak\" d=\"M%.1f %.1fH%d\"><title>FMA: %.1f "
            "GFLOP/s</title></path>\n</g>\n",
            across(d, r->fma / r->read[LevelL1]), down(d, r->fma),
            Left + PlotWidth, 1e-9 * r->fma);
}

/* ---- marks ---- */
static void put_mark(const Roofline *d, const Point *p, double x, double y,
                     bool tip)
{
    const int mark = p->work % Marks;
    fprintf(d->out,
            "<path transform=\"translate(%.1f %.1f) scale(%d)\" "
            "d=\"%s\" class=\"work%d %s\">",
            x, y, p->number ? Small : Large, shapes[mark], mark,
            p->number ? "small" : "large");
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

/* The best of the places that are tried: the first that is free, or which meets
 * least.                                                                     */
typedef struct {
    Box box;
    int met;
} Spot;

static void try_place(const Roofline *d, Spot *best, Box b)
{
    const int met = best->met > 0 ? meets(d, &b) : INT32_MAX;
    if (met < best->met)
        *best = (Spot){ b, met };
}

/* On rings around the mark. */
static Box place_number(const Roofline *d, double x, double y, double width)
{
    const double pi = 3.14159265358979;
    Spot best = { .met = INT32_MAX };
    for (int ring = 0; ring < 14; ring++)
        for (int k = 0; k < 16; k++) {
            const double away = 12 + 7 * ring, turn = 2 * pi * k / 16;
            const Box b = { x + away * cos(turn) - width / 2,
                            y - away * sin(turn) - digit / 2.0, width, digit };
            try_place(d, &best, b);
        }
    return best.box;
}

static void take(Roofline *d, double x, double y, double radius)
{
    const Box b = { x - radius, y - radius, 2 * radius, 2 * radius };
    vec_push(d->arena, &d->taken, b);
}

/* A number, and a line to its mark where that is not beside it. */
static void put_number(const Roofline *d, const Point *p, Box b)
{
    const double x = across(d, p->intensity), y = down(d, p->rate);
    const double middle = b.x + b.width / 2, to_y = b.y + digit / 2.0;
    const double to_x = fabs(middle - x) < b.width ? middle
                      : middle > x                 ? b.x + 1
                                                   : b.x + b.width - 1;
    if (hypot(middle - x, to_y - y) > 18)
        fprintf(d->out, "<path class=\"lead\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
                x, y, to_x, to_y);
    fprintf(d->out,
            "<text x=\"%.1f\" y=\"%.1f\" class=\"halo work%d\">%d</text>\n",
            middle, b.y + 9, p->work % Marks, p->number);
}

static double number_width(const Point *p)
{
    return p->number > 99 ? 24 : p->number > 9 ? 18 : 12;
}

/* ---- clusters ---- */
enum { FewestStacked = 3 };
static const double near_by = 26; /* pixels */

/* The numbered marks that are near to mark i, or to one that is, are moved to
 * its cluster: their indices to `to`. Returns how many.                      */
static int find_cluster(const Roofline *d, int i, bool *found, int *to)
{
    int n = 0;
    to[n++] = i;
    found[i] = true;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < d->points.n; j++) {
            const Point *p = &d->points.at[to[k]], *q = &d->points.at[j];
            if (found[j] || !q->number
                || hypot(across(d, p->intensity) - across(d, q->intensity),
                         down(d, p->rate) - down(d, q->rate))
                       > near_by)
                continue;
            found[j] = true;
            to[n++] = j;
        }
    return n;
}

/* From above, so that their lines do not cross. */
static void sort_cluster(const Roofline *d, int *at, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0; k--) {
            const Point *p = &d->points.at[at[k - 1]];
            const Point *q = &d->points.at[at[k]];
            if (p->rate > q->rate
                || (p->rate >= q->rate && p->number < q->number))
                break;
            const int swap = at[k];
            at[k] = at[k - 1];
            at[k - 1] = swap;
        }
}

/* A column beside the cluster. */
static Box place_column(const Roofline *d, const int *at, int n, double width)
{
    double low = INFINITY, high = -INFINITY, middle = 0;
    Spot best = { .met = INT32_MAX };
    const double height = (double)n * digit;
    for (int i = 0; i < n; i++) {
        const double x = across(d, d->points.at[at[i]].intensity);
        low = fmin(low, x);
        high = fmax(high, x);
        middle += down(d, d->points.at[at[i]].rate) / n;
    }
    for (int away = 20; away < 150; away += 10)
        for (int up = 0; up < 14; up++) {
            const double off = (up % 2 ? 12.0 : -12.0) * ((up + 1) / 2);
            const double y = middle - height / 2 + off;
            try_place(d, &best, (Box){ high + away, y, width, height });
            try_place(d, &best, (Box){ low - away - width, y, width, height });
        }
    return best.box;
}

static void put_cluster(Roofline *d, int *at, int n)
{
    double width = 0;
    for (int i = 0; i < n; i++)
        width = fmax(width, number_width(&d->points.at[at[i]]));
    sort_cluster(d, at, n);
    const Box column = place_column(d, at, n, width);
    for (int i = 0; i < n; i++) {
        const Point *p = &d->points.at[at[i]];
        Box b = column;
        b.y += (double)i * digit;
        b.height = digit;
        if (n < FewestStacked)
            b = place_number(d, across(d, p->intensity), down(d, p->rate),
                             number_width(p));
        vec_push(d->arena, &d->taken, b);
        put_number(d, p, b);
    }
}

static void put_numbers(Roofline *d)
{
    const size_t n = (size_t)d->points.n + 1;
    bool *found = arena_alloc(d->arena, n * sizeof *found);
    int *at = arena_alloc(d->arena, n * sizeof *at);
    fputs("<g font-size=\"10\" text-anchor=\"middle\">\n", d->out);
    for (int i = 0; i < d->points.n; i++)
        if (d->points.at[i].number && !found[i])
            put_cluster(d, at, find_cluster(d, i, found, at));
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

/* ---- legend ---- */
static void put_legend(const Roofline *d)
{
    const Rates *r = &d->r->rates;
    const int x = Left + PlotWidth + Apart, text = x + 34;
    int y = Top + 6;
    fprintf(d->out,
            "<path class=\"peak\" d=\"M%d %dh26\"/>"
            "<text x=\"%d\" y=\"%d\">FMA %.1f GFLOP/s</text>\n",
            x, y, text, y + 4, 1e-9 * r->fma);
    for (int i = 0; i < Levels; i++) {
        y += Line;
        fprintf(
            d->out,
            "<path class=\"roof\" stroke-dasharray=\"%s\" "
            "d=\"M%d %dh26\"/><text x=\"%d\" y=\"%d\">%s %.1f GB/s</text>\n",
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

static void put_picture_head(const Roofline *d)
{
    const BenchReport *r = d->r;
    fprintf(d->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" "
            "font-size=\"11\" role=\"img\">\n%s<rect class=\"ground\" "
            "width=\"100%%\" height=\"100%%\"/>\n<text x=\"16\" "
            "y=\"24\" font-size=\"15\" "
            "font-weight=\"bold\">%s</text>\n<text x=\"16\" y=\"44\">",
            d->width, d->height, d->width, d->height, style,
            r->engine->spec->name);
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
    measure_plot(&d);
    put_picture_head(&d);
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
