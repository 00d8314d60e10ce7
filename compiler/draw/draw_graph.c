/* draw_graph.c: draws a graph as SVG: the page, its header, the columns, and
 * the legend of colours and letters. */
#include <math.h>
#include <string.h>

#include "draw/graph_picture.h"

/* pixels */
static const double head = 52, narrowest = 400, corner_radius = 5, mark = 6,
                    above_legend = 28;

typedef struct {
    Buffer *out;
    const Picture *p;
    PageHead head;
    double left; /* left edge of the columns */
} Page;

static const struct {
    Sym sym;
    const char *text;
} letters[] = {
    { SymN, "n: rows of the source" },     { SymM, "m: rows of keys" },
    { SymT, "t: new rows of the target" }, { SymPT, "p: rows in the cache" },
    { SymR, "r: rows asked for" },         { SymS, "s: sequences" },
};
enum { Letters = sizeof letters / sizeof *letters };

static const char sheet[] =
    ".band{fill:#fff|#16181c;stroke:#d9dde3|#343941}\n"
    ".way{fill:none;stroke:#4a505b|#b4bac4;stroke-width:1.2}\n"
    ".tip{fill:#4a505b|#b4bac4}.weight{fill:#b8860b|#e0b040}\n"
    ".cached{stroke:#9069c2|#b596dd;stroke-dasharray:4 3}\n"
    ".times{font-size:13px}\n";

/* ---- text ---- */
static void put_label(Page *d, const Area *a, const char *text)
{
    if (*text)
        svg_text(d->out, "soft small", a->x, a->y + a->h - 1, "%s", text);
}

/* ---- boxes ---- */
static const Node *node_of(const Page *d, const Box *b)
{
    return &d->p->g->nodes.at[b->node];
}

static void put_marks(Page *d, const Box *b)
{
    const Node *n = node_of(d, b);
    double x = b->area.x + b->area.w - 4;
    for (int k = n->nin - 1; k >= 0; k--) {
        if (n->in[k] < 0 || !is_constant(d->p->g, n->in[k]))
            continue;
        x -= mark;
        buffer_printf(d->out,
                      "<rect class=\"weight\" x=\"%.1f\" y=\"%.1f\" "
                      "width=\"%g\" height=\"%g\"><title>",
                      x, b->area.y + 7, mark, mark);
        svg_add(d->out, constant_text(d->p, n->in[k]));
        buffer_printf(d->out, " : %s</title></rect>\n",
                      print_type(d->p->arena,
                                 d->p->g->nodes.at[n->in[k]].type));
        x -= 3;
    }
}

static void put_box(Page *d, const Box *b)
{
    static const double baseline = 14, line_step = 13, mark_room = 9;
    const OpInfo *op = &op_info[node_of(d, b)->op];
    const bool end = op->op_class == ClassSource || op->op_class == ClassSink;
    const double middle = b->area.x + (b->area.w - b->weights * mark_room) / 2;
    buffer_printf(d->out, "<g>");
    svg_tip(d->out, "%s: %s \xe2\x80\x94 %s", op->name, op->formula,
            print_node(d->p->arena, d->p->g, b->node));
    svg_rect(d->out,
             arena_printf(d->p->arena, "box %s", class_rule(op->op_class)),
             b->area, end ? 10 : 3);
    for (int i = 0; i < b->lines; i++)
        svg_words(d->out, "mid", middle, b->area.y + baseline + i * line_step,
                  b->line[i].bold, b->line[i].soft);
    put_marks(d, b);
    buffer_printf(d->out, "</g>\n");
}

/* ---- lines ---- */
static Point towards(Point from, Point to, double by)
{
    const double length = fabs(to.x - from.x) + fabs(to.y - from.y);
    const double part = length > 0 ? by / length : 0;
    return (Point){ from.x + (to.x - from.x) * part,
                    from.y + (to.y - from.y) * part };
}

static double length_of(Point a, Point b)
{
    return fabs(a.x - b.x) + fabs(a.y - b.y);
}

/* Draws a line with rounded corners and an arrowhead. */
static void put_way(Page *d, const Net *n, const Sink *s)
{
    const Point *at = s->point, end = at[s->points - 1];
    buffer_printf(d->out, "<path class=\"way%s\" d=\"M%.1f %.1f",
                  n->cached ? " cached" : "", at[0].x, at[0].y);
    for (int i = 1; i + 1 < s->points; i++) {
        const double by = fmin(corner_radius, fmin(length_of(at[i - 1], at[i]),
                                                   length_of(at[i], at[i + 1]))
                                                  / 2);
        const Point a = towards(at[i], at[i - 1], by);
        const Point b = towards(at[i], at[i + 1], by);
        buffer_printf(d->out, "L%.1f %.1fQ%.1f %.1f %.1f %.1f", a.x, a.y,
                      at[i].x, at[i].y, b.x, b.y);
    }
    buffer_printf(d->out,
                  "L%.1f %.1f\"/>\n"
                  "<path class=\"tip\" d=\"M%.1f %.1fl-3 6h6z\"/>\n",
                  end.x, end.y + 4, end.x, end.y + 0.5);
}

static void put_net(Page *d, const Net *n)
{
    for (int k = 0; k < n->sink.n; k++)
        put_way(d, n, &n->sink.at[k]);
    for (int k = 0; k < n->sink.n; k++)
        put_label(d, &n->sink.at[k].label, n->sink.at[k].port);
    put_label(d, &n->label, n->shape);
}

/* ---- bands, frames ---- */
static void put_frames(Page *d)
{
    const Picture *p = d->p;
    for (int i = 0; i < p->run.n; i++)
        svg_rect(d->out, "frame", p->run.at[i].area, 8);
    for (int i = 0; i < p->segment.n; i++)
        if (p->segment.at[i].banded)
            svg_rect(d->out, "band", p->segment.at[i].area, 5);
}

static void put_names(Page *d)
{
    const Picture *p = d->p;
    for (int i = 0; i < p->segment.n; i++)
        if (p->segment.at[i].banded)
            put_label(d, &p->segment.at[i].label,
                      segment_name(&p->segment.at[i]));
    for (int i = 0; i < p->run.n; i++) {
        const Run *r = &p->run.at[i];
        svg_words(d->out, "times", r->label.x, r->label.y + r->label.h - 2,
                  r->times, r->name);
    }
}

/* ---- legend ---- */
static bool has_class(const Picture *p, OpClass class)
{
    for (int i = 0; i < p->box.n; i++)
        if (op_info[p->g->nodes.at[p->box.at[i].node].op].op_class == class)
            return true;
    return false;
}

static bool has_letter(const Picture *p, Sym sym)
{
    for (int i = 0; i < p->net.n; i++) {
        const Type *t = &p->g->nodes.at[p->net.at[i].value].type;
        for (int k = 0; k < t->rank; k++)
            if (t->dim[k].sym == sym)
                return true;
    }
    return false;
}

static bool any_cached(const Picture *p)
{
    for (int i = 0; i < p->net.n; i++)
        if (p->net.at[i].cached)
            return true;
    return false;
}

static bool any_weight(const Picture *p)
{
    for (int i = 0; i < p->box.n; i++)
        if (p->box.at[i].weights)
            return true;
    return false;
}

static const char *letter_text(const Picture *p, int i)
{
    const bool rows = letters[i].sym == SymN
                   && p->g->spec->kind == KindAttention;
    return rows ? "n: rows of queries" : letters[i].text;
}

/* Draws the legend. Returns the y of its lower edge. */
static double put_legend(const Page *d, Buffer *out, double y)
{
    Legend l = { out, page_edge, d->head.width - page_edge, page_edge, y };
    for (OpClass i = ClassSource; i < ClassSink; i++)
        if (has_class(d->p, i))
            legend_class(&l, i);
    if (any_weight(d->p))
        legend_add(&l,
                   "<rect class=\"weight\" x=\"3\" y=\"-7\" width=\"6\" "
                   "height=\"6\"/>",
                   "a weight or table");
    if (any_cached(d->p))
        legend_add(&l, "<path class=\"way cached\" d=\"M0 -4h12\"/>",
                   "through the cache");
    legend_line(&l);
    for (int i = 0; i < Letters; i++)
        if (has_letter(d->p, letters[i].sym))
            legend_add(&l, "", letter_text(d->p, i));
    return l.y;
}

/* ---- page ---- */

/* Returns a description of the model, e.g. "encoder-decoder, d_model 512, 8
 * heads". */
static const char *model_text(const Picture *p)
{
    static const char *const kind[] = {
        [KindEncoderDecoder] = "encoder-decoder",
        [KindEncoder] = "encoder",
        [KindDecoder] = "decoder",
        [KindAttention] = "attention",
    };
    const Spec *s = p->g->spec;
    const Side side = s->kind == KindDecoder ? SideDecoder : SideEncoder;
    const long long h = spec_of_layers(s, side, "h");
    const long long d_ff = spec_of_layers(s, side, "d_ff");
    const char *text = arena_printf(p->arena, "%s, d_model %lld", kind[s->kind],
                                    (long long)s->d_model);
    if (h > 0)
        text = arena_printf(p->arena, "%s, %lld head%s", text, h,
                            h == 1 ? "" : "s");
    return d_ff > 0 ? arena_printf(p->arena, "%s, d_ff %lld", text, d_ff)
                    : text;
}

static void measure_page(Page *d, const char *stage)
{
    const Picture *p = d->p;
    Arena *a = p->arena;
    Buffer nothing = { .arena = a };
    d->head = (PageHead){
        .name = p->g->spec->name,
        .what = arena_printf(a, "the graph, %s", stage),
        .text = arena_printf(a, "%s: %s", model_text(p), stage),
        .sheet = arena_printf(a, "%s%s", class_sheet, sheet),
    };
    d->head.width = fmax(narrowest, page_width(&d->head));
    d->head.width = ceil(fmax(d->head.width, p->width + 2 * page_edge));
    d->left = (d->head.width - p->width) / 2;
    d->head.height = ceil(head + p->height + above_legend
                          + put_legend(d, &nothing, 0) + page_edge / 2);
}

Picture *picture_of(Arena *a, const Graph *g)
{
    Picture *p = arena_alloc(a, sizeof *p);
    *p = (Picture){ .arena = a, .g = g };
    picture_boxes(p);
    picture_places(p);
    picture_tracks(p);
    picture_lines(p);
    return p;
}

const char *draw_graph(Arena *a, const Graph *g, const char *stage)
{
    const Picture *p = picture_of(a, g);
    Buffer out = { .arena = a };
    Page d = { .out = &out, .p = p };
    measure_page(&d, stage);
    page_begin(&out, &d.head);
    buffer_printf(&out, "<g transform=\"translate(%.1f %g)\">\n", d.left, head);
    put_frames(&d);
    for (int i = 0; i < p->net.n; i++)
        put_net(&d, &p->net.at[i]);
    for (int i = 0; i < p->box.n; i++)
        put_box(&d, &p->box.at[i]);
    put_names(&d);
    buffer_printf(&out, "</g>\n");
    put_legend(&d, &out, head + p->height + above_legend);
    return page_end(&out);
}
