/* draw_attention.c: draws attention weights as SVG heat maps, with the tokens
 * on both axes. Darkness is the square root of a weight, so that small weights
 * are visible. Masked cells are hatched. Each token is drawn once, and all
 * matrices refer to it. The page follows the reader's light or dark mode, but
 * matrices are always white. */
#include <math.h>
#include <string.h>

#include "draw/draw.h"
#include "draw/plot.h"

/* pixels */
enum {
    Edge = 18,
    Gap = 24,
    Line = 18,
    Header = 112,
    Apart = 22, /* between blocks */
    Widest = 1600,
    Bar = 260,
    /* not pixels: */
    Levels = 64,
    LongestLabel = 16,
    MostTips = 1 << 13
};

static const char sheet[] =
    ".paper{fill:#fff}.in text{fill:#222}.in .on{fill:#fff}\n"
    ".frame{fill:none;stroke:#888}\n";

typedef struct {
    Buffer *out;
    const AttentionPicture *p;
    int cell, font;  /* size of a cell and of its font, in pixels */
    int step;        /* every step-th token is labelled */
    int margin[2];   /* space for the labels of each side, in pixels */
    int rows_margin; /* space for the names of heads, in pixels; 0: rows are
                        tokens */
    bool tips, masked;
    int width, height;
} Drawing;

typedef struct { /* one matrix */
    const AttentionMap *m;
    const float *w;
    int rows, columns;
    size_t stride; /* floats from one row to the next */
    int head;      /* head of the first row */
} Panel;

/* ---- panels ---- */
static int first_head(const AttentionPicture *p)
{
    return p->head >= 0 ? p->head : 0;
}

int attention_heads(const AttentionPicture *p, const AttentionMap *m)
{
    return p->head >= 0 ? 1 : m->heads;
}

int64_t attention_cells(const AttentionPicture *p, const AttentionMap *m)
{
    const int64_t rows = p->query >= 0 ? 1 : p->n[m->side[0]];
    return attention_heads(p, m) * rows * p->n[m->side[1]];
}

static int panels_of(const AttentionPicture *p, const AttentionMap *m)
{
    return p->query >= 0 ? 1 : attention_heads(p, m);
}

static Panel panel_of(const AttentionPicture *p, const AttentionMap *m, int i)
{
    int rows = p->n[m->side[0]], columns = p->n[m->side[1]];
    size_t row = (size_t)columns, matrix = (size_t)rows * row;
    int head = first_head(p) + i;
    Panel x = { .m = m,
                .w = m->weight + (size_t)head * matrix,
                .rows = rows,
                .columns = columns,
                .stride = row,
                .head = head };
    if (p->query >= 0) {
        x.w += (size_t)p->query * row;
        x.rows = attention_heads(p, m);
        x.stride = matrix;
    }
    return x;
}

static int left_of(const Drawing *d, const AttentionMap *m)
{
    return d->rows_margin ? d->rows_margin : d->margin[m->side[0]];
}

/* Returns the height of the text above a matrix: the name of its head, and the
 * labels of its columns. */
static int top_of(const Drawing *d, const AttentionMap *m)
{
    return (d->rows_margin ? 0 : Line) + d->margin[m->side[1]];
}

static int panel_width(const Drawing *d, const Panel *x)
{
    int width = left_of(d, x->m) + x->columns * d->cell;
    return (width > 70 ? width : 70) + Gap;
}

static int panel_height(const Drawing *d, const Panel *x)
{
    return top_of(d, x->m) + x->rows * d->cell + Gap;
}

/* Returns the number of matrices per line, such that a map's lines are about
 * equally full. */
static int panels_in_line(const Drawing *d, const AttentionMap *m)
{
    Panel x = panel_of(d->p, m, 0);
    int n = panels_of(d->p, m), fit = Widest / panel_width(d, &x);
    int lines = fit > 0 ? (n + fit - 1) / fit : n;
    return (n + lines - 1) / lines;
}

static int map_height(const Drawing *d, const AttentionMap *m)
{
    Panel x = panel_of(d->p, m, 0);
    int in_line = panels_in_line(d, m);
    return Line + Apart
         + (panels_of(d->p, m) + in_line - 1) / in_line * panel_height(d, &x);
}

/* ---- labels ---- */

/* Returns a token with visible spaces. */
static const char *shown_token(Arena *a, const char *token)
{
    Buffer b = { .arena = a };
    for (const char *s = token; *s; s++)
        buffer_add(&b, *s == ' ' ? "\xe2\x90\xa3" : s, *s == ' ' ? 3 : 1);
    return b.n ? b.at : "";
}

/* Returns the label of a token. If not all tokens are labelled, it begins with
 * the token's number and a non-breaking space. */
static const char *token_label(const Drawing *d, int side, int i)
{
    Arena *a = d->out->arena;
    const char *text = label_cut(a, shown_token(a, d->p->label[side][i]),
                                 LongestLabel);
    return d->step > 1 ? arena_printf(a, "%d:\xc2\xa0%s", i, text) : text;
}

static double baseline(const Drawing *d, int row)
{
    return (row + 0.5) * d->cell + 0.35 * d->font;
}

/* Draws the tokens of one side in a column, for all axes to refer to. */
static void put_tokens(const Drawing *d, int side)
{
    buffer_printf(d->out, "<g id=\"%s\">\n", d->p->side[side]);
    for (int i = 0; i < d->p->n[side]; i += d->step)
        svg_text(d->out, "", 0, baseline(d, i), "%s", token_label(d, side, i));
    buffer_printf(d->out, "</g>\n");
}

static void put_axes(const Drawing *d, const Panel *x)
{
    buffer_printf(d->out,
                  "<g font-size=\"%d\"><use xlink:href=\"#%s\" "
                  "transform=\"rotate(-90)\" x=\"4\"/>",
                  d->font, d->p->side[x->m->side[1]]);
    if (!d->rows_margin)
        buffer_printf(d->out,
                      "<use xlink:href=\"#%s\" x=\"-4\" class=\"end\"/>",
                      d->p->side[x->m->side[0]]);
    for (int i = 0; d->rows_margin && i < x->rows; i++)
        svg_text(d->out, "end", -4, baseline(d, i), "head %d", x->head + i);
    buffer_printf(d->out, "</g>\n");
}

/* ---- matrix ---- */

/* Returns how dark a weight is drawn, from 1 to Levels. -1: masked; 0: not
 * drawn. */
static int level_of(float w)
{
    return w < 0 ? -1 : w > 0 ? (int)(sqrtf(w) * (float)Levels + 0.5f) : 0;
}

/* Begins a path with the colour of a level, from white to dark blue as in the
 * legend; a negative level is hatched. */
static void begin_path(Buffer *out, int level)
{
    if (level < 0)
        buffer_printf(out, "<path stroke=\"url(#masked)\" d=\"");
    else
        buffer_printf(out, "<path stroke=\"#%02x%02x%02x\" d=\"",
                      255 - level * 247 / Levels, 255 - level * 207 / Levels,
                      255 - level * 148 / Levels);
}

/* Draws all cells of a level as one path, with a stroke per run of equal
 * cells. */
static void put_level(const Drawing *d, const Panel *x, int level)
{
    bool any = false;
    for (int i = 0; i < x->rows; i++)
        for (int j = 0, end; j < x->columns; j = end) {
            const float *w = x->w + (size_t)i * x->stride;
            for (end = j + 1;
                 end < x->columns && level_of(w[end]) == level_of(w[j]); end++)
                ;
            if (level_of(w[j]) != level)
                continue;
            if (!any)
                begin_path(d->out, level);
            buffer_printf(d->out, "M%d %dh%d", j * d->cell, i * d->cell,
                          (end - j) * d->cell);
            any = true;
        }
    if (any)
        buffer_printf(d->out, "\"/>\n");
}

/* Draws one cell as a path with a tooltip that shows its weight. */
static void put_cell(const Drawing *d, const Panel *x, int i, int j, float w)
{
    const AttentionPicture *p = d->p;
    Arena *a = d->out->arena;
    int query = p->query >= 0 ? p->query : i;
    begin_path(d->out, level_of(w));
    buffer_printf(d->out, "M%d %dh%d\">", j * d->cell, i * d->cell, d->cell);
    svg_tip(d->out, "%s%d %s \xe2\x86\x92 %d %s: %.6g",
            p->query >= 0 ? arena_printf(a, "head %d: ", x->head + i) : "",
            query, shown_token(a, p->label[x->m->side[0]][query]), j,
            shown_token(a, p->label[x->m->side[1]][j]), (double)w);
    buffer_printf(d->out, "</path>\n");
}

/* Draws the cells. If tooltips are on, each cell is a path; otherwise all cells
 * of a level form one path and adjacent cells are merged. */
static void put_cells(const Drawing *d, const Panel *x)
{
    if (d->masked)
        put_level(d, x, -1);
    for (int level = 1; !d->tips && level <= Levels; level++)
        put_level(d, x, level);
    for (int i = 0; d->tips && i < x->rows; i++)
        for (int j = 0; j < x->columns; j++)
            if (level_of(x->w[(size_t)i * x->stride + (size_t)j]) > 0)
                put_cell(d, x, i, j, x->w[(size_t)i * x->stride + (size_t)j]);
}

static void put_numbers(const Drawing *d, const Panel *x)
{
    buffer_printf(d->out, "<g class=\"in\" pointer-events=\"none\">\n");
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->columns; j++) {
            float w = x->w[(size_t)i * x->stride + (size_t)j];
            if (w >= 0.005f)
                svg_text(d->out, w > 0.3f ? "small mid on" : "small mid",
                         (j + 0.5) * d->cell, (i + 0.5) * d->cell + 3, "%.2f",
                         (double)w);
        }
    buffer_printf(d->out, "</g>\n");
}

static void put_panel(const Drawing *d, const Panel *x, int left, int top)
{
    const Area all = { 0, 0, x->columns * d->cell, x->rows * d->cell };
    buffer_printf(d->out, "<g transform=\"translate(%d %d)\">\n",
                  left + left_of(d, x->m), top + top_of(d, x->m));
    if (!d->rows_margin)
        svg_text(d->out, "b", 0, -4 - d->margin[x->m->side[1]], "head %d",
                 x->head);
    put_axes(d, x);
    svg_rect(d->out, "paper", all, 0);
    buffer_printf(d->out,
                  "<g transform=\"translate(0 %g)\" stroke-width=\"%d\" "
                  "shape-rendering=\"crispEdges\">\n",
                  0.5 * d->cell, d->cell);
    put_cells(d, x);
    buffer_printf(d->out, "</g>\n");
    if (d->cell >= 24)
        put_numbers(d, x);
    svg_rect(d->out, "frame", all, 0);
    buffer_printf(d->out, "</g>\n");
}

/* ---- picture ---- */
static void put_map(const Drawing *d, const AttentionMap *m, int top)
{
    const AttentionPicture *p = d->p;
    int in_line = panels_in_line(d, m);
    const char *rows =
        p->query < 0
            ? arena_printf(d->out->arena, "rows: %s", p->side[m->side[0]])
            : arena_printf(d->out->arena, "%s as the query",
                           shown_token(d->out->arena,
                                       p->label[m->side[0]][p->query]));
    svg_words(d->out, "", Edge, top + 12, m->title,
              arena_printf(d->out->arena, "%s, columns: %s", rows,
                           p->side[m->side[1]]));
    for (int i = 0; i < panels_of(d->p, m); i++) {
        Panel x = panel_of(d->p, m, i);
        put_panel(d, &x, Edge + i % in_line * panel_width(d, &x),
                  top + Line + i / in_line * panel_height(d, &x));
    }
}

/* The gradient is linear in the square root of the weight, so the legend's
 * marks are not evenly spaced. */
static void put_weight_legend(const Drawing *d)
{
    static const double marks[] = { 0, 0.01, 0.1, 0.25, 0.5, 0.75, 1 };
    const int right = Edge + Bar + 16;
    buffer_printf(
        d->out,
        "<defs><linearGradient id=\"weight\"><stop offset=\"0\" "
        "stop-color=\"#fff\"/><stop offset=\"1\" stop-color=\"#08306b\"/>"
        "</linearGradient>\n<pattern id=\"masked\" width=\"4\" "
        "height=\"4\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 4L4 0\""
        " stroke=\"#bbb\" stroke-width=\".7\"/></pattern></defs>\n"
        "<rect x=\"%d\" y=\"58\" width=\"%d\" height=\"12\" "
        "fill=\"url(#weight)\" stroke=\"#888\"/>\n",
        Edge, Bar);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        svg_text(d->out, "tick mid",
                 (double)Edge + (double)Bar * sqrt(marks[i]), 83, "%g",
                 marks[i]);
    svg_text(d->out, "", right, 68, "shade: square root of the weight");
    if (!d->masked)
        return;
    buffer_printf(d->out,
                  "<rect class=\"paper\" x=\"%d\" y=\"76\" width=\"24\" "
                  "height=\"12\"/><path stroke=\"url(#masked)\" "
                  "stroke-width=\"12\" d=\"M%d 82h24\"/>",
                  right, right);
    svg_text(d->out, "", right + 30, 86, "masked");
}

/* ---- sizes ---- */
static int64_t drawn_cells(Drawing *d, const Panel *x)
{
    int64_t drawn = 0;
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->columns; j++) {
            int level = level_of(x->w[(size_t)i * x->stride + (size_t)j]);
            d->masked = d->masked || level < 0;
            drawn += level > 0;
        }
    return drawn;
}

static void measure_cells(Drawing *d)
{
    const AttentionPicture *p = d->p;
    bool one = p->head >= 0 || p->query >= 0;
    int most = 1;
    int64_t drawn = 0;
    for (int i = 0; i < p->maps; i++)
        for (int j = 0; j < panels_of(p, &p->map[i]); j++) {
            Panel x = panel_of(p, &p->map[i], j);
            most = x.columns > most ? x.columns : most;
            most = x.rows > most ? x.rows : most;
            drawn += drawn_cells(d, &x);
        }
    int room = one ? 1120 : 320, largest = one ? 28 : 20;
    d->cell = room / most < largest ? room / most : largest;
    d->cell = d->cell > 1 ? d->cell : 1;
    d->tips = drawn <= MostTips;
    d->font = d->cell < 8 ? 9 : d->cell < 12 ? d->cell : 12;
    d->step = d->cell < 8 ? (9 + d->cell) / d->cell : 1;
}

static void measure_labels(Drawing *d)
{
    const AttentionPicture *p = d->p;
    for (int side = 0; side < 2; side++) {
        double widest = 0;
        for (int i = 0; i < p->n[side]; i += d->step)
            widest = fmax(widest,
                          svg_width(token_label(d, side, i), d->font, false));
        d->margin[side] = (int)widest + 8;
    }
    if (p->query >= 0)
        d->rows_margin = (int)svg_width("head 000", d->font, false) + 8;
}

static void measure_panels(Drawing *d)
{
    const AttentionPicture *p = d->p;
    measure_cells(d);
    measure_labels(d);
    d->width = 600; /* minimum width for the header */
    d->height = Header;
    for (int i = 0; i < p->maps; i++) {
        Panel x = panel_of(p, &p->map[i], 0);
        int width = Edge + panels_in_line(d, &p->map[i]) * panel_width(d, &x);
        d->width = width > d->width ? width : d->width;
        d->height += map_height(d, &p->map[i]);
    }
}

const char *draw_attention(Arena *a, const AttentionPicture *p)
{
    Buffer out = { .arena = a };
    Drawing d = { .p = p, .out = &out };
    measure_panels(&d);
    page_begin(&out,
               &(PageHead){ .name = p->model,
                            .what = "attention weights",
                            .text = arena_printf(
                                a,
                                "attention weights%s: a row "
                                "for each %s, a column for "
                                "each key; a row sums to 1",
                                p->query < 0
                                    ? ""
                                    : arena_printf(a, " of query %d", p->query),
                                p->query < 0 ? "query" : "head"),
                            .sheet = sheet,
                            .width = d.width,
                            .height = d.height });
    put_weight_legend(&d);
    buffer_printf(&out, "<defs>\n");
    for (int side = 0; side < 2; side++)
        put_tokens(&d, side);
    buffer_printf(&out, "</defs>\n");
    for (int i = 0, top = Header; i < p->maps; i++) {
        put_map(&d, &p->map[i], top);
        top += map_height(&d, &p->map[i]);
    }
    return page_end(&out);
}
