/* draw_arena.c: the arena over the steps of each entry as SVG: a value is a
 * rectangle from the step that makes it to the last that reads it, as high as
 * its bytes, at its place.                                                  */
#include <math.h>

#include "draw/arena_picture.h"
#include "draw/svg_page.h"

/* pixels */
static const double head = 62, axis_room = 56, step_width = 44,
                    plot_height = 230, above_plot = 44, panel_gap = 30,
                    narrowest = 640, label_height = 11;

typedef struct {
    Buffer *out;
    const ArenaPicture *d;
    double left, top, width; /* of the plot */
} Panel;

static const char light[] =
    ".peak{fill:#c04f00;fill-opacity:.12}.total{stroke:#c04f00;"
    "stroke-width:1.5;fill:none}\n"
    ".scratch{fill:url(#hatch);stroke:#8b929e}.line{stroke:#8b929e}\n";
static const char dark[] = ".peak{fill:#f0a030;fill-opacity:.16}"
                           ".total{stroke:#f0a030}\n";
static const char hatch[] =
    "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" "
    "patternUnits=\"userSpaceOnUse\"><path class=\"line\" d=\"M0 5L5 0\" "
    "stroke-width=\".8\"/></pattern></defs>\n";

/* "1.23 MB" */
static const char *bytes_text(Arena *a, int64_t bytes)
{
    const double x = (double)bytes;
    if (x < 1e3)
        return arena_printf(a, "%.0f B", x);
    return x < 1e6 ? arena_printf(a, "%.*f kB", x < 1e4 ? 2 : x < 1e5, x / 1e3)
                   : arena_printf(a, "%.*f MB", x < 1e7 ? 2 : x < 1e8, x / 1e6);
}

static double across(const Panel *p, double step)
{
    return p->left + step * step_width;
}

static double height_of(const Panel *p, double bytes)
{
    return p->d->bytes ? bytes / (double)p->d->bytes * plot_height : 0;
}

static double down(const Panel *p, double bytes)
{
    return p->top + plot_height - height_of(p, bytes);
}

/* ---- axes ---- */
static double tick_of(double most)
{
    const double raw = most / 5, ten = pow(10, floor(log10(raw)));
    return ten * (raw > 5 * ten ? 10 : raw > 2 * ten ? 5 : raw > ten ? 2 : 1);
}

static void put_axis(const Panel *p)
{
    const double most = (double)p->d->bytes;
    for (double y = 0, by = most > 0 ? tick_of(most) : 1; y <= most; y += by)
        buffer_printf(p->out,
                      "<path class=\"grid\" d=\"M%.1f %.1fh%.1f\"/>\n"
                      "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" "
                      "font-size=\"%g\" text-anchor=\"end\">%s</text>\n",
                      p->left, down(p, y), p->width, p->left - 5,
                      down(p, y) + 3, soft_text,
                      bytes_text(p->d->arena, (int64_t)y));
}

static void put_steps(const Panel *p)
{
    for (int i = 0; i < p->d->step.n; i++) {
        const double x = across(p, i + 0.5) + 3;
        const double y = p->top + plot_height + 10;
        buffer_printf(p->out,
                      "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" "
                      "font-size=\"%g\" text-anchor=\"end\" "
                      "transform=\"rotate(-60 %.1f %.1f)\">",
                      x, y, soft_text, x, y);
        svg_add(p->out, value_label(p->d->p, p->d->step.at[i]));
        buffer_printf(p->out, "</text>\n");
    }
}

static void put_layers(const Panel *p)
{
    for (int i = 0; i < p->d->layers.n; i++) {
        const ArenaLayers *l = &p->d->layers.at[i];
        const double x = across(p, l->step[0]);
        buffer_printf(p->out,
                      "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" "
                      "width=\"%.1f\" height=\"%.1f\" rx=\"5\"/>\n"
                      "<text x=\"%.1f\" y=\"%.1f\"><tspan class=\"b\">"
                      "\xc3\x97 %d</tspan><tspan class=\"soft\" "
                      "font-size=\"%g\" dx=\"5\">%s</tspan></text>\n",
                      x, p->top - 18,
                      (l->step[1] - l->step[0] + 1) * step_width,
                      plot_height + 18, x + 5, p->top - 6, l->count, soft_text,
                      stack_name[l->stack]);
    }
}

/* ---- values ---- */
static void put_name(const Panel *p, const char *name, double x, double y,
                     double w, double h)
{
    if (h < label_height || svg_width(name, soft_text, false) > w - 4)
        return;
    buffer_printf(p->out,
                  "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" "
                  "text-anchor=\"middle\">",
                  x + w / 2, y + h / 2 + 3, soft_text);
    svg_add(p->out, name);
    buffer_printf(p->out, "</text>\n");
}

static void put_value(const Panel *p, const ArenaValue *v)
{
    const Plan *plan = p->d->p;
    const Node *n = node_at(plan, v->node);
    const double x = across(p, v->from), w = across(p, v->to) - x;
    const double h = height_of(p, (double)v->bytes);
    const double y = down(p, (double)(v->at + v->bytes));
    buffer_printf(p->out, "<g><title>");
    svg_add(p->out, n->name);
    buffer_printf(p->out,
                  ": %s at %lld</title><rect class=\"box %s\" x=\"%.1f\" "
                  "y=\"%.1f\" width=\"%.1f\" height=\"%.2f\"/>",
                  bytes_text(p->d->arena, v->bytes), (long long)v->at,
                  class_rule(op_info[n->op].op_class), x, y, w, h);
    put_name(p, plan->value[v->node].name, x, y, w, h);
    buffer_printf(p->out, "</g>\n");
}

/* Memory of attention's tiles, in the steps that need it. */
static void put_scratch(const Panel *p)
{
    const ArenaPicture *d = p->d;
    const double h = height_of(p, (double)d->scratch);
    for (int i = 0; i < d->step.n && d->scratch; i++)
        if (node_at(d->p, d->step.at[i])->op == OpAttention)
            buffer_printf(p->out,
                          "<g><title>scratch of attention: %s</title><rect "
                          "class=\"scratch\" x=\"%.1f\" y=\"%.1f\" "
                          "width=\"%g\" height=\"%.2f\"/></g>\n",
                          bytes_text(d->arena, d->scratch), across(p, i),
                          p->top, step_width, h);
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
    const double part = d->bytes ? (double)d->apart / (double)d->bytes : 1;
    buffer_printf(p->out,
                  "<text x=\"%.1f\" y=\"%.1f\"><tspan class=\"b\">%s%s"
                  "</tspan><tspan class=\"soft\" font-size=\"%g\" dx=\"8\">"
                  "at most %s in use at once; %s if each value had its own, "
                  "%.3g times as much</tspan></text>\n",
                  page_edge, p->top - 28, rows_text(d),
                  bytes_text(d->arena, d->bytes), soft_text,
                  bytes_text(d->arena, d->most), bytes_text(d->arena, d->apart),
                  part);
}

static void put_peak(const Panel *p)
{
    const double x = across(p, p->d->peak);
    buffer_printf(p->out,
                  "<rect class=\"peak\" x=\"%.1f\" y=\"%.1f\" width=\"%g\" "
                  "height=\"%g\"><title>most in use at once: %s</title>"
                  "</rect>\n",
                  x, p->top, step_width, plot_height,
                  bytes_text(p->d->arena, p->d->most));
}

static void put_entry_panel(const Panel *p)
{
    put_title(p);
    put_layers(p);
    put_axis(p);
    put_peak(p);
    for (int i = 0; i < p->d->value.n; i++)
        put_value(p, &p->d->value.at[i]);
    put_scratch(p);
    buffer_printf(p->out, "<path class=\"total\" d=\"M%.1f %.1fh%.1f\"/>\n",
                  p->left, p->top, p->width);
    put_steps(p);
}

/* The names of its steps are as high as they are long, nearly. */
static double entry_height(const ArenaPicture *d)
{
    double longest = 0;
    for (int i = 0; i < d->step.n; i++)
        longest = fmax(longest, svg_width(value_label(d->p, d->step.at[i]),
                                          soft_text, false));
    return above_plot + plot_height + 0.87 * longest + panel_gap;
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
    legend_add(&l, "<path class=\"total\" d=\"M0 -4h12\"/>",
               "what the caller gives");
    return l.y;
}

char *draw_arena(Arena *a, const Plan *p)
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
                      .light = light,
                      .dark = dark };
    page.width = ceil(fmax(fmax(narrowest, page_width(&page)),
                           2 * page_edge + axis_room + steps * step_width));
    double foot = head;
    for (int i = 0; i < n; i++)
        foot += entry_height(&d[i]);
    page.height = ceil(foot + put_value_legend(&nothing, d, n, page.width, 0)
                       + page_edge);
    page_begin(&out, &page);
    buffer_printf(&out, "%s", hatch);
    double top = head + above_plot;
    for (int i = 0; i < n; i++) {
        put_entry_panel(&(Panel){ &out, &d[i], page_edge + axis_room, top,
                                  d[i].step.n * step_width });
        top += entry_height(&d[i]);
    }
    put_value_legend(&out, d, n, page.width, foot);
    buffer_printf(&out, "</svg>\n");
    return out.at;
}
