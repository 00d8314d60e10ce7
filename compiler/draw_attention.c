/* draw_attention.c: attention weights as SVG: a row of matrices for each map,
 * a matrix for each head, queries downwards, keys to the right. Labels are left
 * out where a cell is too small for them.                                    */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "draw.h"

enum { Levels = 32, Edge = 16, Title = 18, LongestLabel = 12 };

typedef struct {
    FILE *out;
    const AttentionPicture *p;
    int64_t cell;                /* pixels; all numbers below are, too */
    int64_t margin;              /* for labels, left and above; 0: none */
    int64_t width, height;
} Drawing;

static int64_t first_of(int64_t chosen)
{
    return chosen >= 0 ? chosen : 0;
}

static int64_t end_of(int64_t chosen, int64_t n)
{
    return chosen >= 0 ? attn_min(chosen + 1, n) : n;
}

static int64_t drawn_rows(const Drawing *d, const AttentionMap *m)
{
    return attn_max(end_of(d->p->query, m->rows) - first_of(d->p->query), 0);
}

static int64_t panel_width(const Drawing *d, const AttentionMap *m)
{
    return attn_max(d->margin + m->columns * d->cell, 90) + Edge;
}

static int64_t panel_height(const Drawing *d, const AttentionMap *m)
{
    return Title + d->margin + drawn_rows(d, m) * d->cell + Edge;
}

/* ---------------------------------------------------------------- text --- */
/* XML takes no control characters, and no bytes that are not UTF-8. */
static bool fits_xml(const char *s, int64_t n)
{
    return n > 0 && (unsigned char)*s >= 0x20 && *s != 0x7f &&
           !(n == 3 && strncmp(s, "\xef\xbf", 2) == 0 &&
             (unsigned char)s[2] >= 0xbe);
}

/* At most LongestLabel characters, then dots; a space is a visible one. */
static void put_label(FILE *out, const char *s)
{
    int64_t left = (int64_t)strlen(s);
    for (int i = 0; left > 0; i++) {
        int64_t n = attn_character(s, left);
        if (i == LongestLabel) {
            fputs("\xe2\x80\xa6", out);
            return;
        }
        if (!fits_xml(s, n))
            fprintf(out, "\\x%02X", (unsigned char)*s);
        else if (*s == ' ')
            fputs("\xe2\x90\xa3", out);
        else if (strchr("&<>\"", *s))
            fprintf(out, "&#%d;", *s);
        else
            fwrite(s, 1, (size_t)n, out);
        s += n > 0 ? n : 1;
        left -= n > 0 ? n : 1;
    }
}

static void put_labels(const Drawing *d, const AttentionMap *m, int64_t x,
                       int64_t y)
{
    int64_t c = d->cell, from = first_of(d->p->query);
    int64_t size = attn_min(c, 12);
    for (int64_t i = 0; i < drawn_rows(d, m); i++) {
        fprintf(d->out, "<text x=\"%lld\" y=\"%lld\" font-size=\"%lld\" "
                "text-anchor=\"end\">", (long long)x - 4,
                (long long)(y + i * c + (c + size) / 2 - 1), (long long)size);
        put_label(d->out, m->query[from + i]);
        fputs("</text>\n", d->out);
    }
    for (int64_t j = 0; j < m->columns; j++) {
        fprintf(d->out, "<text transform=\"translate(%lld %lld) rotate(-90)\" "
                "font-size=\"%lld\">",
                (long long)(x + j * c + (c + size) / 2 - 1), (long long)y - 4,
                (long long)size);
        put_label(d->out, m->key[j]);
        fputs("</text>\n", d->out);
    }
}

/* -------------------------------------------------------------- matrix --- */
static int level_of(float w)
{
    return w > 0 ? (int)(w * (float)Levels + 0.5f) : 0;
}

/* White to dark blue. */
static void put_color(FILE *out, int level)
{
    fprintf(out, "fill=\"#%02x%02x%02x\"", 255 - level * 247 / Levels,
            255 - level * 207 / Levels, 255 - level * 148 / Levels);
}

/* Cells of one shade, side by side, are one rectangle. */
static void put_row(const Drawing *d, const float *w, int64_t n, int64_t x,
                    int64_t y)
{
    for (int64_t j = 0, end; j < n; j = end) {
        int level = level_of(w[j]);
        for (end = j + 1; end < n && level_of(w[end]) == level; end++)
            ;
        if (level == 0)
            continue;
        fprintf(d->out, "<rect x=\"%lld\" y=\"%lld\" width=\"%lld\" "
                "height=\"%lld\" ", (long long)(x + j * d->cell), (long long)y,
                (long long)((end - j) * d->cell), (long long)d->cell);
        put_color(d->out, level);
        fputs("/>\n", d->out);
    }
    for (int64_t j = 0; d->cell >= 24 && j < n; j++)
        fprintf(d->out, "<text x=\"%lld\" y=\"%lld\" font-size=\"9\" "
                "text-anchor=\"middle\" fill=\"%s\">%.2f</text>\n",
                (long long)(x + j * d->cell + d->cell / 2),
                (long long)(y + d->cell / 2 + 3),
                w[j] > 0.5f ? "white" : "black", (double)w[j]);
}

static void put_matrix(const Drawing *d, const AttentionMap *m, int64_t head,
                       int64_t x, int64_t y)
{
    int64_t from = first_of(d->p->query), rows = drawn_rows(d, m), c = d->cell;
    fprintf(d->out, "<text x=\"%lld\" y=\"%lld\" font-size=\"12\">head %lld"
            "</text>\n", (long long)(x + d->margin), (long long)y + 12,
            (long long)head);
    x += d->margin;
    y += Title + d->margin;
    for (int64_t i = 0; i < rows; i++)
        put_row(d, m->weight + (head * m->rows + from + i) * m->columns,
                m->columns, x, y + i * c);
    fprintf(d->out, "<rect x=\"%lld\" y=\"%lld\" width=\"%lld\" "
            "height=\"%lld\" fill=\"none\" stroke=\"#999\"/>\n", (long long)x,
            (long long)y, (long long)(m->columns * c), (long long)(rows * c));
    if (d->margin)
        put_labels(d, m, x, y);
}

/* ------------------------------------------------------------- picture --- */
static void put_legend(const Drawing *d, int64_t x, int64_t y)
{
    fprintf(d->out, "<text x=\"%lld\" y=\"%lld\" font-size=\"12\">weight 0"
            "</text>\n", (long long)x, (long long)y + 11);
    for (int i = 0; i <= Levels; i++) {
        fprintf(d->out, "<rect x=\"%lld\" y=\"%lld\" width=\"4\" "
                "height=\"12\" ", (long long)x + 60 + 4 * i, (long long)y);
        put_color(d->out, i);
        fputs("/>\n", d->out);
    }
    fprintf(d->out, "<text x=\"%lld\" y=\"%lld\" font-size=\"12\">1; queries "
            "down, keys to the right</text>\n",
            (long long)x + 64 + 4 * (Levels + 1), (long long)y + 11);
}

static void measure(Drawing *d)
{
    const AttentionPicture *p = d->p;
    int64_t most = 1;
    for (int i = 0; i < p->maps; i++)
        most = attn_max(most, attn_max(p->map[i].columns,
                                       drawn_rows(d, &p->map[i])));
    int64_t room = p->head >= 0 ? 720 : 200;
    d->cell = attn_max(attn_min(room / most, p->head >= 0 ? 28 : 14), 2);
    d->margin = d->cell < 8
        ? 0 : (LongestLabel + 1) * attn_min(d->cell, 12) * 2 / 3;
    d->width = 420;
    d->height = Edge + Title;
    for (int i = 0; i < p->maps; i++) {
        const AttentionMap *m = &p->map[i];
        int64_t heads = end_of(p->head, m->heads) - first_of(p->head);
        d->width = attn_max(d->width, Edge + heads * panel_width(d, m));
        d->height += Title + panel_height(d, m);
    }
}

static void put_maps(const Drawing *d)
{
    const AttentionPicture *p = d->p;
    int64_t y = Edge + Title;
    for (int i = 0; i < p->maps; i++) {
        const AttentionMap *m = &p->map[i];
        fprintf(d->out, "<text x=\"%d\" y=\"%lld\" font-size=\"13\" "
                "font-weight=\"bold\">%s</text>\n", Edge, (long long)y + 13,
                m->name);
        y += Title;
        for (int64_t h = first_of(p->head); h < end_of(p->head, m->heads); h++)
            put_matrix(d, m, h, Edge + (h - first_of(p->head))
                                           * panel_width(d, m), y);
        y += panel_height(d, m);
    }
}

char *draw_attention(const AttentionPicture *p, size_t *size)
{
    char *text = NULL;
    Drawing d = { .p = p, .out = open_memstream(&text, size) };
    if (!d.out)
        fail(ExitResource, "out of memory for a picture");
    measure(&d);
    fprintf(d.out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "width=\"%lld\" height=\"%lld\" font-family=\"monospace\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            (long long)d.width, (long long)d.height);
    put_legend(&d, Edge, Edge / 2);
    put_maps(&d);
    fputs("</svg>\n", d.out);
    if (fclose(d.out) != 0)
        fail(ExitResource, "out of memory for a picture");
    return text;
}
