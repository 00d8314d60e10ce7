/* draw_roofline.c: draws a bench report as SVG: FLOP/s over FLOPs per byte,
 * both logarithmic, under the machine's roofs [Williams, Waterman and Patterson
 * 2009]. Workloads are large marks. Kernels are small marks with numbers, which
 * the legend explains. */
#include <math.h>
#include <string.h>

#include "bench/bench_report.h"
#include "draw/plot.h"

/* position and size in pixels */
static const Area plot_area = { 72, 70, 640, 470 };
static const double below = 56, apart = 28, line = 17, large = 1.4, small = 0.8;

typedef struct { /* a mark in the plot */
    const char *name, *op;
    int work, number;        /* number of the mark; 0: the workload itself */
    double intensity, rate;  /* FLOPs per byte, FLOP/s */
    double seconds, percent; /* time of one run; limit in percent of that
                                time */
    const char *bound;
} Kernel;

typedef struct {
    Buffer out;
    Arena *arena;
    const BenchReport *r;
    VEC(Kernel) kernels;
    Plot plot;
    double width, height;
    double top; /* the highest peak */
} Roofline;

/* shapes, so that colours are not needed to distinguish workloads */
static const Mark shapes[] = { MarkSquare, MarkDiamond, MarkTriangle };
enum { Marks = sizeof shapes / sizeof *shapes };
static const char sheet[] =
    ".roof{stroke:#555|#a0a0a0;stroke-width:1.5;fill:none}\n"
    ".peak{stroke:#000|#e6e6e6;stroke-width:2;fill:none}\n"
    ".whole{stroke:#000|#e6e6e6;stroke-width:1.4}.part{fill-opacity:.75}\n";
static const char *const dashes[Levels] = { "none", "9 4", "5 3 1 3", "2 3" };

/* ---- points ---- */
static void add_kernel(Roofline *d, Kernel p)
{
    if (p.intensity > 0 && isfinite(p.intensity) && p.rate > 0
        && isfinite(p.rate))
        vec_push(d->arena, &d->kernels, p);
}

static void add_workload(Roofline *d, int work)
{
    const BenchRow *row = &d->r->rows.at[work];
    const Cost c = row->work.sum;
    const double far = c.weights + c.cached;
    const double bytes = far > 0 ? far : c.values;
    add_kernel(d, (Kernel){ .name = row->work.name,
                            .work = work,
                            .intensity = cost_operations(c) / bytes,
                            .rate = cost_operations(c) / row->time.p50,
                            .seconds = row->time.p50,
                            .bound = bound_word(row->limit.bound),
                            .percent = 100.0 * row->limit.seconds
                                     / row->time.p50 });
}

/* Adds the kernels of a workload, except a search, because the workloads before
 * it have the same kernels. */
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
        add_kernel(d,
                   (Kernel){ .name = k->name ? k->name : k->function,
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

/* ---- sides ---- */
static const char *kernel_text(const Roofline *d, const Kernel *k)
{
    return k->op ? arena_printf(d->arena, "%s: %s", k->name, k->op) : k->name;
}

/* Returns the peak of a unit such as BoundFma. Returns 0 for a unit other than
 * FMA if it is no faster, or if no workload uses it. */
static double peak_of(const Roofline *d, int unit)
{
    const Rates *r = &d->r->rates;
    const double rate = unit == BoundFma ? r->fma
                      : unit == BoundDot ? r->dot
                                         : r->pair;
    bool used = unit == BoundFma;
    for (int i = 0; i < d->r->rows.n; i++) {
        const Cost *c = &d->r->rows.at[i].work.sum;
        used |= (unit == BoundDot ? c->dots : c->pairs) > 0;
    }
    return used && rate >= r->fma ? rate : 0;
}

static const char *peak_text(const Roofline *d, int unit)
{
    return arena_printf(d->arena, "%s %.1f G%s/s", bound_word(unit),
                        1e-9 * peak_of(d, unit),
                        unit == BoundDot ? "OP" : "FLOP");
}

static void measure_plot(Roofline *d)
{
    const Rates *r = &d->r->rates;
    Scale x = scale_new(UnitWord), y = scale_new(UnitFlops);
    double widest = 170;
    x.logarithmic = y.logarithmic = true;
    int peaks = 0;
    for (int unit = BoundFma; unit < Bounds; unit++) {
        const double peak = peak_of(d, unit);
        d->top = fmax(d->top, peak);
        peaks += peak > 0;
    }
    scale_widen(&x, r->fma / r->read[LevelL1]);
    scale_widen(&x, d->top / r->read[LevelMemory]);
    scale_widen(&y, r->fma);
    scale_widen(&y, d->top);
    for (int i = 0; i < d->kernels.n; i++) {
        const Kernel *k = &d->kernels.at[i];
        scale_widen(&x, k->intensity);
        scale_widen(&y, k->rate);
        widest = fmax(widest,
                      svg_width(kernel_text(d, k), box_text, !k->number));
    }
    scale_end(&x, false);
    scale_end(&y, false);
    d->plot = plot_new(&d->out, plot_area, x, y);
    d->width = plot_area.x + plot_area.w + apart + widest + 100 + page_edge;
    d->height = plot_area.y + below
              + fmax(plot_area.h, line * (d->kernels.n + Levels + 3 + peaks));
}

static void put_grid(const Roofline *d)
{
    double tick[MostTicks];
    plot_grid_x(&d->plot, tick, scale_ticks(&d->plot.x, 9, tick), true);
    plot_grid_y(&d->plot, 9, true);
    plot_edge(&d->plot);
    plot_sides(&d->plot, "FLOP/byte",
               arena_printf(d->arena, "%s/s", d->plot.y.word));
}

/* ---- roofs ---- */
static void put_roof(Roofline *d, const char *rule, const char *dash,
                     Point from, Point to, const char *tip)
{
    buffer_printf(&d->out,
                  "<path class=\"%s\" stroke-dasharray=\"%s\" d=\"M%.1f "
                  "%.1fL%.1f %.1f\">",
                  rule, dash, from.x, from.y, to.x, to.y);
    svg_tip(&d->out, "%s", tip);
    buffer_printf(&d->out, "</path>\n");
}

static void put_roofs(Roofline *d)
{
    const Rates *r = &d->r->rates;
    const Plot *p = &d->plot;
    const double least = pow(10, p->x.from), lowest = pow(10, p->y.from);
    for (int i = 0; i < Levels; i++) {
        const double from = fmax(least, lowest / r->read[i]);
        if (r->read[i] > 0)
            put_roof(d, "roof", dashes[i],
                     plot_point(p, from, from * r->read[i]),
                     plot_point(p, d->top / r->read[i], d->top),
                     arena_printf(d->arena, "%s: %.1f GB/s", level_name[i],
                                  1e-9 * r->read[i]));
    }
    for (int unit = BoundFma; unit < Bounds; unit++) {
        const double peak = peak_of(d, unit);
        if (peak > 0)
            put_roof(d, "peak", "none",
                     plot_point(p, peak / r->read[LevelL1], peak),
                     plot_point(p, pow(10, p->x.to), peak), peak_text(d, unit));
    }
}

/* ---- marks ---- */
static void put_mark(Roofline *d, const Kernel *k, Point at, const char *tip)
{
    const int mark = k->work % Marks;
    svg_mark(&d->out,
             arena_printf(d->arena, "c%d %s", mark,
                          k->number ? "part" : "whole"),
             shapes[mark], k->number ? small : large, at, tip);
}

static const char *tip_text(const Roofline *d, const Kernel *k)
{
    return arena_printf(d->arena,
                        "%s, %s%s%s: %.4g ms, %.4g GFLOP/s, %.3g FLOP/byte; "
                        "%.0f %% of the limit (%s)",
                        d->r->rows.at[k->work].work.name,
                        k->number ? k->name : "all of it", k->op ? ", " : "",
                        k->op ? k->op : "", 1e3 * k->seconds, 1e-9 * k->rate,
                        k->intensity, k->percent, k->bound);
}

static Point place_of(const Roofline *d, const Kernel *k)
{
    return plot_point(&d->plot, k->intensity, k->rate);
}

/* Draws the numbered marks of kernels. If the number fits neither next to its
 * mark nor at the end of a line to it, only the tooltip has it. */
static void put_kernel_marks(Roofline *d)
{
    for (int i = 0; i < d->kernels.n; i++)
        labels_take(&d->plot.labels, place_of(d, &d->kernels.at[i]),
                    d->kernels.at[i].number ? 4 : 7);
    for (int i = 0; i < d->kernels.n; i++) {
        const Kernel *k = &d->kernels.at[i];
        if (k->number)
            plot_label(&d->plot, arena_printf(d->arena, "c%d", k->work % Marks),
                       place_of(d, k), arena_printf(d->arena, "%d", k->number),
                       LeadCrosses);
    }
    for (int numbered = 0; numbered <= 1; numbered++)
        for (int i = 0; i < d->kernels.n; i++) {
            const Kernel *k = &d->kernels.at[i];
            if ((k->number > 0) == numbered)
                put_mark(d, k, place_of(d, k), tip_text(d, k));
        }
}

/* ---- legend ---- */
static void put_key(Roofline *d, const char *rule, const char *dash, double x,
                    double y, const char *text)
{
    buffer_printf(&d->out,
                  "<path class=\"%s\" stroke-dasharray=\"%s\" d=\"M%.1f "
                  "%.1fh26\"/>\n",
                  rule, dash, x, y);
    svg_text(&d->out, "", x + 34, y + 4, "%s", text);
}

static void put_legend(Roofline *d)
{
    const Rates *r = &d->r->rates;
    const double x = plot_area.x + plot_area.w + apart, text = x + 34;
    const double right = d->width - page_edge;
    double y = plot_area.y + 6;
    for (int unit = BoundFma; unit < Bounds; unit++)
        if (peak_of(d, unit) > 0) {
            put_key(d, "peak", "none", x, y, peak_text(d, unit));
            y += line;
        }
    for (int i = 0; i < Levels; i++, y += line)
        put_key(d, "roof", dashes[i], x, y,
                arena_printf(d->arena, "%s %.1f GB/s", level_name[i],
                             1e-9 * r->read[i]));
    y += line;
    svg_text(&d->out, "end", right, y + 4, "%% of limit");
    for (int i = 0; i < d->kernels.n; i++) {
        const Kernel *k = &d->kernels.at[i];
        y += k->number ? line : line + (i > 0 ? 4 : 0);
        put_mark(d, k, (Point){ x + 8, y }, NULL);
        if (k->number)
            svg_text(&d->out, "end", text, y + 4, "%d", k->number);
        svg_text(&d->out, k->number ? "" : "b", text + (k->number ? 7 : -7),
                 y + 4, "%s", kernel_text(d, k));
        svg_text(&d->out, "end", right, y + 4, "%.0f", k->percent);
    }
}

const char *draw_roofline(const BenchReport *r)
{
    Arena *a = r->engine->arena;
    Roofline d = { .out = { .arena = a }, .r = r, .arena = a };
    int number = 0;
    for (int i = 0; i < r->rows.n; i++) {
        add_workload(&d, i);
        add_kernels(&d, i, &number);
    }
    measure_plot(&d);
    page_begin(&d.out,
               &(PageHead){
                   .name = r->engine->spec->name,
                   .what = "the roofline",
                   .text = arena_printf(a,
                                        "%s: %s, %s, %d thread%s, batch of "
                                        "%lld, beam %lld",
                                        r->machine.cpu, backend_name(r),
                                        r->engine->target.name, r->threads,
                                        r->threads == 1 ? "" : "s",
                                        (long long)r->setup->options.batch,
                                        (long long)r->setup->options.beam),
                   .sheet = arena_printf(a, "%s%s", plot_sheet, sheet),
                   .width = d.width,
                   .height = d.height });
    put_grid(&d);
    put_roofs(&d);
    put_kernel_marks(&d);
    put_legend(&d);
    return page_end(&d.out);
}
