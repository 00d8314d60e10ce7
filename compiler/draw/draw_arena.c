/* draw_arena.c: draws the arena of each entry over the entry's steps, as SVG. A
 * value is a rectangle from the step that computes it to its last reader, as
 * high as its number of bytes. */
#include <math.h>

#include "draw/arena_picture.h"
#include "base/strings.h"
#include "draw/plot.h"

/* pixels */
static const double head = 62, axis_room = 56, step_width = 44,
                    plot_height = 230, above_plot = 44, panel_gap = 30,
                    narrowest = 640, label_height = 11;

typedef struct {
    Buffer *out;
    const ArenaPicture *d;
    Plot plot;
} Panel;

static const char sheet[] = ".peak{fill:#c04f00|#f0a030;fill-opacity:.14}\n"
                            ".scratch{fill:url(#hatch);stroke:#8b929e}\n";
static const char hatch[] =
    "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" "
    "patternUnits=\"userSpaceOnUse\"><path class=\"edge\" d=\"M0 5L5 0\" "
    "stroke-width=\".8\"/></pattern></defs>\n";

/* Returns the area of a rectangle of steps and bytes, in pixels. */
static Area area_of(const Panel *p, double from, double to, int64_t at,
                    int64_t bytes)
{
    const Point a = plot_point(&p->plot, from, (double)(at + bytes));
    const Point b = plot_point(&p->plot, to, (double)at);
    return (Area){ a.x, a.y, b.x - a.x, b.y - a.y };
}

/* ---- sides ---- */
static void put_steps(const Panel *p)
{
    for (int i = 0; i < p->d->step.n; i++) {
        const Point at = plot_point(&p->plot, i + 0.5, 0);
        buffer_printf(p->out,
                      "<g transform=\"translate(%.1f %.1f)rotate(-60)\">\n",
                      at.x + 3, at.y + 10);
        svg_text(p->out, "soft small end", 0, 0, "%s",
                 value_label(p->d->p, p->d->step.at[i]));
        buffer_printf(p->out, "</g>\n");
    }
}

static void put_layers(const Panel *p)
{
    for (int i = 0; i < p->d->layers.n; i++) {
        const ArenaLayers *l = &p->d->layers.at[i];
        Area at = area_of(p, l->step[0], l->step[1] + 1, 0, p->d->bytes);
        at.y -= 18;
        at.h += 18;
        svg_rect(p->out, "frame", at, 5);
        svg_words(p->out, "", at.x + 5, at.y + 12,
                  arena_printf(p->d->arena, "\xc3\x97 %d", l->count),
                  stack_name[l->stack]);
    }
}

/* ---- values ---- */
static void put_area(const Panel *p, const char *rules, Area at,
                     const char *tip, const char *name)
{
    buffer_printf(p->out, "<g>");
    svg_tip(p->out, "%s", tip);
    svg_rect(p->out, rules, at, 0);
    if (at.h >= label_height && svg_width(name, soft_text, false) <= at.w - 4)
        svg_text(p->out, "small mid", at.x + at.w / 2, at.y + at.h / 2 + 3,
                 "%s", name);
    buffer_printf(p->out, "</g>\n");
}

static void put_value(const Panel *p, const ArenaValue *v)
{
    const Node *n = node_at(p->d->p, v->node);
    Arena *a = p->d->arena;
    put_area(p, arena_printf(a, "box %s", class_rule(op_info[n->op].op_class)),
             area_of(p, v->from, v->to, v->at, v->bytes),
             arena_printf(a, "%s: %s at %lld", n->name,
                          bytes_text(a, (double)v->bytes, false, 3),
                          (long long)v->at),
             p->d->p->value[v->node].name);
}

/* Draws the memory for attention's tiles at the steps that use it. */
static void put_scratch(const Panel *p)
{
    const ArenaPicture *d = p->d;
    for (int i = 0; i < d->step.n && d->scratch; i++)
        if (node_at(d->p, d->step.at[i])->op == OpAttention)
            put_area(p, "scratch",
                     area_of(p, i, i + 1, d->bytes - d->scratch, d->scratch),
                     arena_printf(d->arena, "scratch of attention: %s",
                                  bytes_text(d->arena, (double)d->scratch,
                                             false, 3)),
                     "");
}

/* ---- panel ---- */
static const char *rows_text(const ArenaPicture *d)
{
    const bool search = d->sequences > 1 || d->rows == 1;
    const char *entry = d->entry == EntryDecode ? "decode" : "encode";
    return arena_printf(d->arena, "%s, %lld row%s%s, one thread: ", entry,
                        (long long)d->rows, d->rows == 1 ? "" : "s",
                        search ? " (a step of the search)" : "");
}

static void put_title(const Panel *p)
{
    const ArenaPicture *d = p->d;
    Arena *a = d->arena;
    const double part = d->bytes ? (double)d->apart / (double)d->bytes : 1;
    svg_words(p->out, "", page_edge, p->plot.at.y - 28,
              arena_printf(a, "%s%s", rows_text(d),
                           bytes_text(a, (double)d->bytes, false, 3)),
              arena_printf(a,
                           "at most %s in use at once; %s if each value had "
                           "its own, %.3g times as much",
                           bytes_text(a, (double)d->most, false, 3),
                           bytes_text(a, (double)d->apart, false, 3), part));
}

/* Returns the height of an entry's panel. Step names are rotated by 60 degrees,
 * so they are 0.87 times as high as long. */
static double entry_height(const ArenaPicture *d)
{
    double longest = 0;
    for (int i = 0; i < d->step.n; i++)
        longest = fmax(longest, svg_width(value_label(d->p, d->step.at[i]),
                                          soft_text, false));
    return above_plot + plot_height + 0.87 * longest + panel_gap;
}

/* Draws the panel of an entry. Returns the y of its lower edge. */
static double put_entry_panel(Buffer *out, const ArenaPicture *d, double top)
{
    Scale x = { .to = d->step.n }, y = scale_new(UnitBytes);
    scale_widen(&y, 0);
    scale_widen(&y, (double)d->bytes);
    scale_end(&y, true);
    y.from = 0;
    y.to = d->bytes ? (double)d->bytes : 1;
    Panel p = { out, d,
                plot_new(out,
                         (Area){ page_edge + axis_room, top + above_plot,
                                 d->step.n * step_width, plot_height },
                         x, y) };
    const Point ends[] = { plot_point(&p.plot, 0, y.to),
                           plot_point(&p.plot, x.to, y.to) };
    put_title(&p);
    put_layers(&p);
    plot_grid_y(&p.plot, 5, true);
    plot_sides(&p.plot, NULL, y.word);
    put_area(&p, "peak", area_of(&p, d->peak, d->peak + 1, 0, d->bytes),
             arena_printf(d->arena, "most in use at once: %s",
                          bytes_text(d->arena, (double)d->most, false, 3)),
             "");
    for (int i = 0; i < d->value.n; i++)
        put_value(&p, &d->value.at[i]);
    put_scratch(&p);
    svg_line(out, "front", ends, 2, "");
    put_steps(&p);
    return top + entry_height(d);
}

/* ---- legend ---- */
static bool has_value_class(const ArenaPicture *d, OpClass op_class)
{
    for (int i = 0; i < d->value.n; i++)
        if (op_info[node_at(d->p, d->value.at[i].node)->op].op_class
            == op_class)
            return true;
    return false;
}

static double put_value_legend(Buffer *out, const ArenaPicture *d, int n,
                               double width, double y)
{
    Legend l = { out, page_edge, width - page_edge, page_edge, y };
    bool scratch = false;
    for (OpClass i = ClassSource; i <= ClassSink; i++) {
        bool any = false;
        for (int k = 0; k < n; k++)
            any |= has_value_class(&d[k], i);
        if (any)
            legend_class(&l, i);
    }
    for (int k = 0; k < n; k++)
        scratch |= d[k].scratch > 0;
    if (scratch)
        legend_add(&l,
                   "<rect class=\"scratch\" y=\"-9\" width=\"12\" "
                   "height=\"10\"/>",
                   "attention's tiles");
    legend_add(&l, "<rect class=\"peak\" y=\"-9\" width=\"12\" height=\"10\"/>",
               "most in use at once");
    legend_add(&l, "<path class=\"front\" d=\"M0 -4h12\"/>",
               "what the caller gives");
    return l.y;
}

const char *draw_arena(Arena *a, const Plan *p)
{
    Buffer out = { .arena = a }, nothing = { .arena = a };
    ArenaPicture d[2];
    int n = 0, steps = 0;
    for (Entry e = EntryEncode; e <= EntryDecode; e++)
        if (has_entry(p, e)) {
            d[n++] = arena_picture(a, p, e);
            steps = d[n - 1].step.n > steps ? d[n - 1].step.n : steps;
        }
    PageHead page = { .name = p->g->spec->name,
                      .what = "the arena",
                      .text = "memory of the values of a call: place, and the "
                              "steps in which it is in use",
                      .sheet = arena_printf(a, "%s%s%s", class_sheet,
                                            plot_sheet, sheet) };
    page.width = ceil(fmax(fmax(narrowest, page_width(&page)),
                           2 * page_edge + axis_room + steps * step_width));
    double foot = head;
    for (int i = 0; i < n; i++)
        foot += entry_height(&d[i]);
    page.height = ceil(foot + put_value_legend(&nothing, d, n, page.width, 0)
                       + page_edge);
    page_begin(&out, &page);
    buffer_printf(&out, "%s", hatch);
    double top = head;
    for (int i = 0; i < n; i++)
        top = put_entry_panel(&out, &d[i], top);
    put_value_legend(&out, d, n, page.width, foot);
    return page_end(&out);
}
