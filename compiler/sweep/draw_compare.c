/* draw_compare.c: draws the times of layers over the length as SVG, one line
 * per kind of layer with the kind's name at its end. Both axes are
 * logarithmic. */
#include <math.h>
#include <stdlib.h>

#include "sweep/sweep_draw.h"

enum { Colours = 6 }; /* number of colours in `sheet` */
/* position and size in pixels */
static const Area plot_area = { 88, 62, 560, 400 };
static const double below = 50, names_room = 208, name_gap = 13;

static const char sheet[] =
    ".s0{stroke:#0072b2|#56b4e9}.s1{stroke:#c04f00|#f0a030}"
    ".s2{stroke:#007a5a|#2fc79a}\n"
    ".s3{stroke:#a0457a|#e08fc0}.s4{stroke:#806c00|#e6d040}"
    ".s5{stroke:#555555|#bbbbbb}\n";

typedef struct {
    const char *name;
    double end, at; /* y in pixels of the line's end; of its name */
    int colour;
} Name;

typedef struct {
    const Sweep *s;
    Arena *arena;
    Buffer out;
    Plot plot;
    Measure mx, my;
    const Row **line; /* [points]: the rows of one line */
    VEC(Name) names;
} Picture;

static bool has_point(const Picture *d, const Row *r)
{
    return !isnan(measure_get(&d->mx, r)) && !isnan(measure_get(&d->my, r));
}

/* ---- scales ---- */
static bool find_scales(Picture *d)
{
    Scale x = scale_new(UnitWord), y = scale_new(UnitSeconds);
    for (int i = 0; i < d->s->rows.n; i++) {
        const Row *r = &d->s->rows.at[i];
        if (!has_point(d, r))
            continue;
        scale_widen(&x, measure_get(&d->mx, r));
        scale_widen(&y, measure_get(&d->my, r));
    }
    if (x.most < x.least)
        return false;
    x.logarithmic = y.logarithmic = true;
    scale_end(&x, false);
    scale_end(&y, false);
    d->plot = plot_new(&d->out, plot_area, x, y);
    return true;
}

static void draw_time_sides(Picture *d)
{
    const Axis *lengths = &d->s->axes.at[d->mx.axis];
    VEC(double) tick = { 0 };
    for (int i = 0; i < lengths->value.n; i++)
        vec_push(d->arena, &tick,
                 (double)axis_number(lengths, lengths->value.at[i]));
    plot_grid_x(&d->plot, tick.at, tick.n, true);
    plot_grid_y(&d->plot, 8, true);
    plot_edge(&d->plot);
    plot_sides(&d->plot, "n, rows of the sequence",
               arena_printf(d->arena, "a call, %s", d->plot.y.word));
}

/* ---- lines ---- */
static void draw_time_line(Picture *d, int n)
{
    const int colour = d->names.n % Colours;
    const char *rule = arena_printf(d->arena, "c%d", colour);
    const Row *last = NULL;
    VEC(Point) at = { 0 };
    for (int i = 0; i < n; i++)
        if (has_point(d, d->line[i])) {
            last = d->line[i];
            vec_push(d->arena, &at,
                     plot_point(&d->plot, measure_get(&d->mx, last),
                                measure_get(&d->my, last)));
        }
    if (!last)
        return;
    svg_line(&d->out, arena_printf(d->arena, "line s%d", colour), at.at, at.n,
             "");
    for (int i = 0; i < at.n; i++)
        svg_mark(&d->out, rule, MarkDot, 1, at.at[i], NULL);
    const double end = at.at[at.n - 1].y;
    const char *name = arena_printf(d->arena, "%s, n^%.2f",
                                    label_cut(d->arena,
                                              compare_name(d->s, last), 24),
                                    last->exponent);
    vec_push(d->arena, &d->names, ((Name){ name, end, end, colour }));
}

static int by_end(const void *a, const void *b)
{
    const Name *x = a, *y = b;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* Draws the names next to the ends of their lines, without overlaps. */
static void put_names(Picture *d)
{
    Name *name = d->names.at;
    const int n = d->names.n;
    qsort(name, (size_t)n, sizeof *name, by_end);
    for (int i = 1; i < n; i++)
        name[i].at = fmax(name[i].at, name[i - 1].at + name_gap);
    for (int i = n - 1; i >= 0; i--) {
        const double most = i < n - 1 ? name[i + 1].at - name_gap
                                      : plot_area.y + plot_area.h;
        name[i].at = fmin(name[i].at, most);
        svg_text(&d->out, arena_printf(d->arena, "c%d", name[i].colour),
                 plot_area.x + plot_area.w + 8, name[i].at + 4, "%s",
                 name[i].name);
    }
}

const char *draw_compare(const Sweep *s)
{
    Arena *a = s->arena;
    Picture d = { .s = s,
                  .arena = a,
                  .out = { .arena = a },
                  .mx = { .axis = compare_axis(s) },
                  .my = { .axis = -1, .c = &s->drawn.at[0] } };
    if (!find_scales(&d))
        return NULL;
    page_begin(&d.out,
               &(PageHead){ .name = s->variants.at[0].label,
                            .what = "time over the length",
                            .text = arena_printf(a,
                                                 "time over the length, both "
                                                 "sides logarithmic; %s; %s",
                                                 workload_text(s, a),
                                                 s->machine->cpu),
                            .sheet = arena_printf(a, "%s%s", plot_sheet, sheet),
                            .width = plot_area.x + plot_area.w + names_room,
                            .height = plot_area.y + plot_area.h + below });
    draw_time_sides(&d);
    d.line = arena_alloc(a, (size_t)s->rows.n * sizeof *d.line + 1);
    for (int i = 0; i < s->rows.n; i++)
        draw_time_line(&d, compare_line(s, i, d.line));
    put_names(&d);
    return page_end(&d.out);
}
