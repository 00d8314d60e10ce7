/* draw_attention.c: attention weights as SVG: heat maps with the tokens on both
 * axes, dark on light, of one scale from 0 to 1: the square root of the weight,
 * so that weak ones are seen. What a softmax never saw is hatched. Tokens are
 * written once, and used by every matrix. The ground and the text follow the
 * reader's light or dark; matrices are on white.                             */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "draw/draw.h"

/* pixels */
enum {
    Edge = 16,
    Gap = 24,
    Line = 18,
    Header = 96,
    Apart = 22, /* blocks */
    Widest = 1600,
    Bar = 260,
    /* others */
    Levels = 64,
    LongestLabel = 16,
    MostTips = 1 << 13
};

static const char style[] =
    "<style>\n"
    ".ground,.paper{fill:#fff}text{fill:#222}.soft{fill:#666}\n"
    ".title{font-weight:bold}.in text{fill:#222}.in .on{fill:#fff}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".ground{fill:#16181c}text{fill:#e6e6e6}.soft{fill:#a0a0a0}}\n"
    "</style>\n";

typedef struct {
    FILE *out;
    const AttentionPicture *p;
    int cell, font;  /* pixels */
    int step;        /* every step-th token is labelled */
    int margin[2];   /* pixels that labels of a side take */
    int rows_margin; /* of the names of heads; 0: rows are tokens */
    bool tips, masked;
    int width, height;
} Drawing;

typedef struct { /* one matrix */
    const AttentionMap *m;
    const float *w;
    int rows, columns;
    size_t stride; /* floats from row to row */
    int head;      /* of row 0 */
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

/* Of the name of a head, and of what stands above the columns. */
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

/* How many matrices of a map stand side by side: lines of equal length. */
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

/* Where not all are labelled, each label begins with the token's number and a
 * space that stays invisible.                                               */
static int put_token_label(const Drawing *d, FILE *out, int side, int i)
{
    char number[16] = "";
    if (d->step > 1)
        snprintf(number, sizeof number, "%d:\xc2\xa0", i);
    return svg_text(out, number, LongestLabel)
         + svg_text(out, d->p->label[side][i], LongestLabel);
}

static double baseline(const Drawing *d, int row)
{
    return (row + 0.5) * d->cell + 0.35 * d->font;
}

/* The tokens of one side, one below the other, for all axes. */
static void put_tokens(const Drawing *d, int side)
{
    fprintf(d->out, "<g id=\"%s\">\n", d->p->side[side]);
    for (int i = 0; i < d->p->n[side]; i += d->step) {
        fprintf(d->out, "<text y=\"%g\">", baseline(d, i));
        put_token_label(d, d->out, side, i);
        fputs("</text>\n", d->out);
    }
    fputs("</g>\n", d->out);
}

static void put_axes(const Drawing *d, const Panel *x)
{
    fprintf(d->out,
            "<g font-size=\"%d\"><use xlink:href=\"#%s\" "
            "transform=\"rotate(-90)\" x=\"4\"/>",
            d->font, d->p->side[x->m->side[1]]);
    if (!d->rows_margin)
        fprintf(d->out,
                "<use xlink:href=\"#%s\" x=\"-4\" "
                "text-anchor=\"end\"/>",
                d->p->side[x->m->side[0]]);
    for (int i = 0; d->rows_margin && i < x->rows; i++)
        fprintf(d->out,
                "<text x=\"-4\" y=\"%g\" text-anchor=\"end\">head %d"
                "</text>",
                baseline(d, i), x->head + i);
    fputs("</g>\n", d->out);
}

/* ---- matrix ---- */

/* Of its square root. -1: masked; 0: not drawn. */
static int level_of(float w)
{
    return w < 0 ? -1 : w > 0 ? (int)(sqrtf(w) * (float)Levels + 0.5f) : 0;
}

/* Of white to dark blue, the gradient of the legend; below 0: masked. */
static void begin_path(FILE *out, int level)
{
    if (level < 0)
        fputs("<path stroke=\"url(#masked)\" d=\"", out);
    else
        fprintf(out, "<path stroke=\"#%02x%02x%02x\" d=\"",
                255 - level * 247 / Levels, 255 - level * 207 / Levels,
                255 - level * 148 / Levels);
}

/* The path of all cells of a level, as strokes along rows. */
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
            fprintf(d->out, "M%d %dh%d", j * d->cell, i * d->cell,
                    (end - j) * d->cell);
            any = true;
        }
    if (any)
        fputs("\"/>\n", d->out);
}

/* A path for each cell, so that it says its weight to who points at it. */
static void put_cell(const Drawing *d, const Panel *x, int i, int j, float w)
{
    const AttentionPicture *p = d->p;
    int query = p->query >= 0 ? p->query : i;
    begin_path(d->out, level_of(w));
    fprintf(d->out, "M%d %dh%d\"><title>", j * d->cell, i * d->cell, d->cell);
    if (p->query >= 0)
        fprintf(d->out, "head %d: ", x->head + i);
    fprintf(d->out, "%d ", query);
    svg_text(d->out, p->label[x->m->side[0]][query], INT32_MAX);
    fprintf(d->out, " \xe2\x86\x92 %d ", j);
    svg_text(d->out, p->label[x->m->side[1]][j], INT32_MAX);
    fprintf(d->out, ": %.6g</title></path>\n", (double)w);
}

/* Cells side by side of one shade are one stroke, all of them one path; or, so
 * that they can be pointed at, each is a path.                              */
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
    fputs("<g class=\"in\" font-size=\"9\" text-anchor=\"middle\" "
          "pointer-events=\"none\">\n",
          d->out);
    for (int i = 0; i < x->rows; i++)
        for (int j = 0; j < x->columns; j++) {
            float w = x->w[(size_t)i * x->stride + (size_t)j];
            if (w >= 0.005f)
                fprintf(d->out, "<text x=\"%g\" y=\"%g\"%s>%.2f</text>\n",
                        (j + 0.5) * d->cell, (i + 0.5) * d->cell + 3,
                        w > 0.3f ? " class=\"on\"" : "", (double)w);
        }
    fputs("</g>\n", d->out);
}

static void put_panel(const Drawing *d, const Panel *x, int left, int top)
{
    int c = d->cell;
    fprintf(d->out, "<g transform=\"translate(%d %d)\">\n",
            left + left_of(d, x->m), top + top_of(d, x->m));
    if (!d->rows_margin)
        fprintf(d->out, "<text y=\"%d\" class=\"title\">head %d</text>\n",
                -4 - d->margin[x->m->side[1]], x->head);
    put_axes(d, x);
    fprintf(d->out,
            "<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n"
            "<g transform=\"translate(0 %g)\" stroke-width=\"%d\" "
            "shape-rendering=\"crispEdges\">\n",
            x->columns * c, x->rows * c, 0.5 * c, c);
    put_cells(d, x);
    fputs("</g>\n", d->out);
    if (c >= 24)
        put_numbers(d, x);
    fprintf(d->out,
            "<rect width=\"%d\" height=\"%d\" fill=\"none\" "
            "stroke=\"#888\"/>\n</g>\n",
            x->columns * c, x->rows * c);
}

/* ---- picture ---- */
static void put_map(const Drawing *d, const AttentionMap *m, int top)
{
    const AttentionPicture *p = d->p;
    int in_line = panels_in_line(d, m);
    fprintf(d->out,
            "<text x=\"%d\" y=\"%d\"><tspan font-size=\"14\" "
            "font-weight=\"bold\">%s</tspan><tspan class=\"soft\" "
            "dx=\"14\">",
            Edge, top + 12, m->title);
    if (p->query < 0)
        fprintf(d->out, "rows: %s", p->side[m->side[0]]);
    else
        svg_text(d->out, p->label[m->side[0]][p->query], LongestLabel);
    fprintf(d->out, "%s, columns: %s</tspan></text>\n",
            p->query < 0 ? "" : " as the query", p->side[m->side[1]]);
    for (int i = 0; i < panels_of(d->p, m); i++) {
        Panel x = panel_of(d->p, m, i);
        put_panel(d, &x, Edge + i % in_line * panel_width(d, &x),
                  top + Line + i / in_line * panel_height(d, &x));
    }
}

/* The gradient is even in the square root: its marks are not in the weight. */
static void put_weight_legend(const Drawing *d)
{
    static const double marks[] = { 0, 0.01, 0.1, 0.25, 0.5, 0.75, 1 };
    fprintf(d->out,
            "<defs><linearGradient id=\"weight\"><stop offset=\"0\" "
            "stop-color=\"#fff\"/><stop offset=\"1\" stop-color=\"#08306b\"/>"
            "</linearGradient>\n<pattern id=\"masked\" width=\"4\" "
            "height=\"4\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 4L4 0\""
            " stroke=\"#bbb\" stroke-width=\".7\"/></pattern></defs>\n"
            "<rect x=\"%d\" y=\"48\" width=\"%d\" height=\"12\" "
            "fill=\"url(#weight)\" stroke=\"#888\"/>\n",
            Edge, Bar);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        fprintf(d->out,
                "<text x=\"%.1f\" y=\"73\" font-size=\"10\" "
                "text-anchor=\"middle\">%g</text>\n",
                (double)Edge + (double)Bar * sqrt(marks[i]), marks[i]);
    fprintf(d->out,
            "<text x=\"%d\" y=\"58\">shade: square root of the weight"
            "</text>\n",
            Edge + Bar + 16);
    if (d->masked)
        fprintf(d->out,
                "<rect class=\"paper\" x=\"%d\" y=\"66\" width=\"24\" "
                "height=\"12\"/><path stroke=\"url(#masked)\" "
                "stroke-width=\"12\" d=\"M%d 72h24\"/><text x=\"%d\" "
                "y=\"76\">masked</text>\n",
                Edge + Bar + 16, Edge + Bar + 16, Edge + Bar + 46);
}

static void put_header(const Drawing *d)
{
    const AttentionPicture *p = d->p;
    fprintf(d->out,
            "<text x=\"%d\" y=\"20\" font-size=\"15\" "
            "font-weight=\"bold\">%s: attention weights",
            Edge, p->model);
    if (p->query >= 0)
        fprintf(d->out, " of query %d", p->query);
    fprintf(d->out,
            "</text>\n<text x=\"%d\" y=\"38\">a row for each %s, a "
            "column for each key; a row sums to 1</text>\n",
            Edge, p->query >= 0 ? "head" : "query");
    put_weight_legend(d);
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

/* 0.62 of its height is what a monospaced letter takes. */
static void measure_labels(Drawing *d)
{
    const AttentionPicture *p = d->p;
    for (int side = 0; side < 2; side++) {
        int widest = 1;
        for (int i = 0; i < p->n[side]; i += d->step) {
            int columns = put_token_label(d, NULL, side, i);
            widest = columns > widest ? columns : widest;
        }
        d->margin[side] = widest * d->font * 62 / 100 + 8;
    }
    if (p->query >= 0)
        d->rows_margin = 8 * d->font * 62 / 100 + 8;
}

static void measure_panels(Drawing *d)
{
    const AttentionPicture *p = d->p;
    measure_cells(d);
    measure_labels(d);
    d->width = 600; /* of the header */
    d->height = Header;
    for (int i = 0; i < p->maps; i++) {
        Panel x = panel_of(p, &p->map[i], 0);
        int width = Edge + panels_in_line(d, &p->map[i]) * panel_width(d, &x);
        d->width = width > d->width ? width : d->width;
        d->height += map_height(d, &p->map[i]);
    }
}

char *draw_attention(const AttentionPicture *p, size_t *size)
{
    char *text = NULL;
    Drawing d = { .p = p, .out = open_memstream(&text, size) };
    if (!d.out)
        fail(ExitResource, "out of memory for a picture");
    measure_panels(&d);
    fprintf(d.out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"monospace\" "
            "font-size=\"12\" role=\"img\">\n%s<rect class=\"ground\" "
            "width=\"100%%\" height=\"100%%\"/>\n",
            d.width, d.height, d.width, d.height, style);
    put_header(&d);
    fputs("<defs>\n", d.out);
    for (int side = 0; side < 2; side++)
        put_tokens(&d, side);
    fputs("</defs>\n", d.out);
    for (int i = 0, top = Header; i < p->maps; i++) {
        put_map(&d, &p->map[i], top);
        top += map_height(&d, &p->map[i]);
    }
    fputs("</svg>\n", d.out);
    if (fclose(d.out) != 0)
        fail(ExitResource, "out of memory for a picture");
    return text;
}
