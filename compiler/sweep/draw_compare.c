/* draw_compare.c: the times of layers over the length as SVG: a line each, its
 * name at its end, both sides logarithmic.                                   */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw/svg.h"
#include "sweep/sweep_draw.h"

/* pixels */
enum {
    Edge = 18,
    Top = 62,
    Left = 70,
    Below = 50,
    Width = 560,
    Height = 400,
    Names = 190, /* to the right of the plot */
    NameGap = 13 /* from a name to the next */
};

/* Colours that the colour-blind tell apart [Okabe and Ito 2008], on light and
 * on dark ground.                                                            */
static const char *const colours[][2] = {
    { "#0072b2", "#56b4e9" }, { "#c04f00", "#f0a030" },
    { "#007a5a", "#2fc79a" }, { "#a0457a", "#e08fc0" },
    { "#806c00", "#e6d040" }, { "#555555", "#bbbbbb" },
};
enum { Colours = sizeof colours / sizeof *colours };

typedef struct {
    const char *name;
    double end, at; /* pixels: where the line ends, where its name stands */
    int colour;
} Name;

typedef struct {
    const Sweep *s;
    Arena *arena;
    Buffer out;
    Scale x, y;
    Measure mx, my;
    const Row **line; /* of one line */
    VEC(Name) names;
} Picture;

static double across(const Picture *d, double x)
{
    return (double)Left + (double)Edge + (double)Width * scale_part(&d->x, x);
}

static double down_to(const Picture *d, double y)
{
    return (double)Top + (double)Height * (1 - scale_part(&d->y, y));
}

static bool has_point(const Picture *d, const Row *r)
{
    return !isnan(measure_get(&d->mx, r)) && !isnan(measure_get(&d->my, r));
}

/* ---- scales ---- */
static bool find_scales(Picture *d)
{
    int n = 0;
    for (int i = 0; i < d->s->rows.n; i++) {
        const Row *r = &d->s->rows.at[i];
        if (!has_point(d, r))
            continue;
        scale_widen(&d->x, measure_get(&d->mx, r));
        scale_widen(&d->y, measure_get(&d->my, r));
        n++;
    }
    if (n == 0)
        return false;
    d->x.logarithmic = d->y.logarithmic = true;
    scale_end(&d->x, false);
    scale_end(&d->y, false);
    return true;
}

static void draw_time_sides(Picture *d)
{
    const Axis *lengths = &d->s->axes.at[d->mx.axis];
    double tick[MostTicks];
    for (int i = 0; i < lengths->value.n; i++) {
        const double x = across(d, (double)axis_number(lengths,
                                                       lengths->value.at[i]));
        buffer_printf(&d->out, "<path class=\"grid\" d=\"M%.1f %dv%d\"/>\n", x,
                      Top, Height);
        svg_put(&d->out, " class=\"soft\" text-anchor=\"middle\"", x,
                Top + Height + 15, lengths->value.at[i]);
    }
    const int n = scale_ticks(&d->y, 8, tick);
    for (int i = 0; i < n; i++) {
        buffer_printf(&d->out, "<path class=\"grid\" d=\"M%d %.1fh%d\"/>\n",
                      Left + Edge, down_to(d, tick[i]), Width);
        svg_put(&d->out, " class=\"soft\" text-anchor=\"end\"", Left + Edge - 6,
                down_to(d, tick[i]) + 3.5,
                scale_text(d->arena, &d->y, tick[i], 4));
    }
    buffer_printf(&d->out,
                  "<rect class=\"edge\" x=\"%d\" y=\"%d\" width=\"%d\" "
                  "height=\"%d\"/>\n",
                  Left + Edge, Top, Width, Height);
    svg_put(&d->out, " text-anchor=\"middle\"", Left + Edge + Width / 2,
            Top + Height + 36, "n, rows of the sequence");
    svg_put(&d->out,
            arena_printf(d->arena,
                         " text-anchor=\"middle\" transform=\"rotate(-90 %d "
                         "%d)\"",
                         Edge + 10, Top + Height / 2),
            Edge + 10, Top + Height / 2,
            arena_printf(d->arena, "a call, %s", d->y.word));
}

/* ---- lines ---- */
static void draw_time_line(Picture *d, int n)
{
    const int colour = d->names.n % Colours;
    const Row *last = NULL;
    buffer_printf(&d->out, "<path class=\"line c%d\" d=\"", colour);
    for (int i = 0; i < n; i++) {
        if (!has_point(d, d->line[i]))
            continue;
        buffer_printf(&d->out, "%s%.1f %.1f", last ? "L" : "M",
                      across(d, measure_get(&d->mx, d->line[i])),
                      down_to(d, measure_get(&d->my, d->line[i])));
        last = d->line[i];
    }
    buffer_printf(&d->out, "\"/>\n");
    for (int i = 0; i < n; i++)
        if (has_point(d, d->line[i]))
            buffer_printf(&d->out,
                          "<circle class=\"dot c%d\" cx=\"%.1f\" cy=\"%.1f\" "
                          "r=\"3.5\"/>\n",
                          colour, across(d, measure_get(&d->mx, d->line[i])),
                          down_to(d, measure_get(&d->my, d->line[i])));
    const double end = down_to(d, measure_get(&d->my, last));
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

/* Beside the ends of their lines, none over another. */
static void put_names(Picture *d)
{
    Name *name = d->names.at;
    const int n = d->names.n;
    qsort(name, (size_t)n, sizeof *name, by_end);
    for (int i = 1; i < n; i++)
        name[i].at = fmax(name[i].at, name[i - 1].at + (double)NameGap);
    for (int i = n - 1; i >= 0; i--) {
        const double most = i < n - 1 ? name[i + 1].at - (double)NameGap
                                      : (double)Top + (double)Height;
        name[i].at = fmin(name[i].at, most);
        svg_put(&d->out,
                arena_printf(d->arena, " class=\"c%d\"", name[i].colour),
                Left + Edge + Width + 8, name[i].at + 4, name[i].name);
    }
}

static void put_colours(Picture *d, int dark)
{
    for (int i = 0; i < Colours; i++)
        buffer_printf(&d->out,
                      ".line.c%d{stroke:%s}.dot.c%d,text.c%d{fill:%s}\n", i,
                      colours[i][dark], i, i, colours[i][dark]);
}

static void draw_compare_head(Picture *d, const char *title)
{
    const int width = 2 * Edge + Left + Width + Names;
    const int height = Top + Height + Below;
    svg_begin(&d->out, width, height, 11);
    svg_add(&d->out, title);
    buffer_printf(&d->out,
                  "</title>\n<style>\n%s.line{stroke-width:2;fill:none}"
                  ".b{font-weight:600}\n",
                  svg_light);
    put_colours(d, 0);
    buffer_printf(&d->out, "@media(prefers-color-scheme:dark){\n%s", svg_dark);
    put_colours(d, 1);
    buffer_printf(&d->out,
                  "}\n</style>\n<rect class=\"ground\" width=\"100%%\" "
                  "height=\"100%%\"/>\n");
    svg_put(&d->out, " class=\"b\" font-size=\"16\"", Edge, 28, title);
    svg_put(&d->out, " class=\"soft\"", Edge, 45,
            arena_printf(d->arena, "%s; both sides logarithmic; %s",
                         workload_text(d->s, d->arena), d->s->machine->cpu));
}

char *draw_compare(const Sweep *s, size_t *size)
{
    Picture d = { .s = s,
                  .arena = arena_new(),
                  .mx = { .axis = compare_axis(s) },
                  .my = { .axis = -1, .c = compare_column(s, "latency") } };
    char *text = NULL;
    d.out.arena = d.arena;
    d.x = scale_new(ColumnWord);
    d.y = scale_new(ColumnSeconds);
    d.line = arena_alloc(d.arena, (size_t)s->rows.n * sizeof *d.line + 1);
    if (find_scales(&d)) {
        draw_compare_head(&d, arena_printf(d.arena, "%s: time over the length",
                                           s->variants.at[0].label));
        draw_time_sides(&d);
        for (int i = 0; i < s->rows.n; i++) {
            const int n = compare_line(s, i, d.line);
            bool any = false;
            for (int k = 0; k < n; k++)
                any |= has_point(&d, d.line[k]);
            if (any)
                draw_time_line(&d, n);
        }
        put_names(&d);
        buffer_printf(&d.out, "</svg>\n");
        *size = (size_t)d.out.n;
        text = malloc(*size + 1);
        if (!text)
            fail(ExitResource, "out of memory for a picture");
        memcpy(text, d.out.at, *size + 1);
    }
    arena_free(d.arena);
    return text;
}
