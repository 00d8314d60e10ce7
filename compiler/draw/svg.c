/* svg.c: draws the common parts of pictures: page, header, colours, text, marks
 * and legend. */
#include "draw/svg.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/strings.h"

static const double title_size = 16, line_step = 16; /* pixels */

static const char common[] =
    ".ground{fill:#fff|#16181c}text{fill:#1f2328|#e6e6e6}"
    ".soft{fill:#5c6370|#a3a8b2}\n"
    ".grid{stroke:#ddd|#33363c;fill:none}.edge{stroke:#999|#777;fill:none}\n"
    ".b{font-weight:600}.title{font-size:16px}.small{font-size:9px}\n"
    ".tick{font-size:10px}.mid{text-anchor:middle}.end{text-anchor:end}\n";

/* ---- text ---- */
void svg_add(Buffer *b, const char *text)
{
    for (const char *s = plain_text(b->arena, text); *s; s++)
        if (strchr("&<>\"", *s))
            buffer_printf(b, "&#%d;", *s);
        else
            buffer_add(b, s, 1);
}

void svg_text(Buffer *b, const char *rules, double x, double y, const char *fmt,
              ...)
{
    va_list ap;
    va_start(ap, fmt);
    buffer_printf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, rules);
    svg_add(b, arena_vprintf(b->arena, fmt, ap));
    buffer_printf(b, "</text>\n");
    va_end(ap);
}

void svg_words(Buffer *b, const char *rules, double x, double y,
               const char *bold, const char *soft)
{
    buffer_printf(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, rules);
    if (*bold) {
        buffer_printf(b, "<tspan class=\"b\">");
        svg_add(b, bold);
        buffer_printf(b, "</tspan>");
    }
    if (*soft) {
        buffer_printf(b, "<tspan class=\"soft small\"%s>",
                      *bold ? " dx=\"5\"" : "");
        svg_add(b, soft);
        buffer_printf(b, "</tspan>");
    }
    buffer_printf(b, "</text>\n");
}

void svg_side(Buffer *b, double x, double y, const char *text)
{
    buffer_printf(b, "<g transform=\"translate(%.1f %.1f)rotate(-90)\">\n", x,
                  y);
    svg_text(b, "mid", 0, 0, "%s", text);
    buffer_printf(b, "</g>\n");
}

void svg_tip(Buffer *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buffer_printf(b, "<title>");
    svg_add(b, arena_vprintf(b->arena, fmt, ap));
    buffer_printf(b, "</title>");
    va_end(ap);
}

/* Returns the width of a letter as a multiple of the font size, in DejaVu Sans,
 * which is wider than other common fonts. */
static double letter_width(unsigned char c)
{
    if (c < 0x80 && strchr("mwMW@%", c))
        return 0.99;
    if (c < 0x80 && strchr("fijlrtI.,:;'|()[] !/", c))
        return 0.41;
    if (c >= 'A' && c <= 'Z')
        return 0.78;
    return c < 0x80 ? 0.64 : c < 0xe0 ? 0.84 : 1.05;
}

double svg_width(const char *text, double size, bool bold)
{
    double width = 0;
    for (const char *s = text; *s; s++)
        if (((unsigned char)*s & 0xc0) != 0x80) /* first byte of a character */
            width += letter_width((unsigned char)*s);
    return width * size * (bold ? 1.1 : 1);
}

/* ---- shapes ---- */
void svg_rect(Buffer *b, const char *rules, Area at, double radius)
{
    buffer_printf(b,
                  "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                  "height=\"%.1f\" rx=\"%g\"/>\n",
                  rules, at.x, at.y, at.w, at.h, radius);
}

void svg_line(Buffer *b, const char *rules, const Point *at, int n,
              const char *end)
{
    buffer_printf(b, "<path class=\"%s\" d=\"", rules);
    for (int i = 0; i < n; i++)
        buffer_printf(b, "%s%.1f %.1f", i ? "L" : "M", at[i].x, at[i].y);
    buffer_printf(b, "%s\"/>\n", end);
}

void svg_mark(Buffer *b, const char *rules, Mark mark, double scale, Point at,
              const char *tip)
{
    static const char *const shapes[] = {
        [MarkDot] = "M0 -3.5a3.5 3.5 0 1 1 -.1 0z",
        [MarkSquare] = "M-5 -5h10v10h-10z",
        [MarkDiamond] = "M0 -5.5L5.5 0L0 5.5L-5.5 0z",
        [MarkTriangle] = "M0 -5L5.5 4h-11z",
        [MarkRing] = "M0 -7a7 7 0 1 1 -.1 0z",
        [MarkCross] = "M-3 -3l6 6m0 -6l-6 6",
    };
    buffer_printf(b, "<path class=\"%s\" transform=\"translate(%.1f %.1f)",
                  rules, at.x, at.y);
    if (scale < 1 || scale > 1)
        buffer_printf(b, "scale(%g)", scale);
    buffer_printf(b, "\" d=\"%s\">", shapes[mark]);
    if (tip)
        svg_tip(b, "%s", tip);
    buffer_printf(b, "</path>\n");
}

/* ---- page ---- */

/* Adds a sheet with the first value of each colour or, if `dark` is set, the
 * second. */
static void put_sheet(Buffer *out, const char *s, bool dark)
{
    static const char letters[] = "#0123456789abcdef";
    while (*s) {
        const size_t before = strcspn(s, "#"), n = strspn(s + before, letters);
        buffer_add(out, s, before);
        s += before;
        const bool two = s[n] == '|';
        const size_t other = two ? strspn(s + n + 1, letters) : 0;
        if (dark && two)
            buffer_add(out, s + n + 1, other);
        else
            buffer_add(out, s, n);
        s += n + two + other;
    }
}

double page_width(const PageHead *head)
{
    return 2 * page_edge
         + fmax(svg_width(head->name, title_size, true),
                svg_width(head->text, box_text, false));
}

void page_begin(Buffer *out, const PageHead *head)
{
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                  "xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%.0f\" "
                  "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                  "font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,"
                  "'Helvetica Neue',Arial,sans-serif\" font-size=\"%g\" "
                  "role=\"img\">\n",
                  head->width, head->height, head->width, head->height,
                  box_text);
    svg_tip(out, "%s: %s", head->name, head->what);
    buffer_printf(out, "\n<style>\n");
    put_sheet(out, common, false);
    put_sheet(out, head->sheet, false);
    buffer_printf(out, "@media(prefers-color-scheme:dark){\n");
    put_sheet(out, common, true);
    put_sheet(out, head->sheet, true);
    buffer_printf(out, "}\n</style>\n<rect class=\"ground\" width=\"100%%\" "
                       "height=\"100%%\"/>\n");
    svg_text(out, "b title", page_edge, page_edge + 10, "%s", head->name);
    svg_text(out, "soft", page_edge, page_edge + 26, "%s", head->text);
}

const char *page_end(Buffer *out)
{
    buffer_printf(out, "</svg>\n");
    return out->at;
}

/* ---- legend ---- */
void legend_line(Legend *l)
{
    if (l->x > l->left) {
        l->x = l->left;
        l->y += line_step;
    }
}

void legend_add(Legend *l, const char *sign, const char *text)
{
    const double sign_room = *sign ? 17 : 0;
    const double room = sign_room + svg_width(text, soft_text, false);
    if (l->x + room > l->right)
        legend_line(l);
    if (*sign)
        buffer_printf(l->out, "<g transform=\"translate(%.1f %.1f)\">%s</g>\n",
                      l->x, l->y, sign);
    svg_text(l->out, "soft small", l->x + sign_room, l->y, "%s", text);
    l->x += 0.86 * room + 18; /* 0.86, because most fonts are narrower than
                                 computed */
}

void legend_mark(Legend *l, const char *rules, Mark mark, const char *text)
{
    Buffer sign = { .arena = l->out->arena };
    svg_mark(&sign, rules, mark, 1, (Point){ 6, -3.5 }, NULL);
    legend_add(l, sign.at, text);
}

/* ---- classes of ops ---- */
static const struct {
    const char *rule, *meaning;
} look[] = {
    [ClassSource] = { "source", "in and out" },
    [ClassRow] = { "row", "row by row" },
    [ClassPosition] = { "position", "knows its position" },
    [ClassHead] = { "head", "mixes rows" },
    [ClassState] = { "state", "writes the cache" },
    [ClassSink] = { "source", "in and out" },
};
const char class_sheet[] =
    ".box{stroke-width:1}.frame{fill:#f4f5f7|#1f2228;stroke:#c3c8d0|#3d424b}\n"
    ".source{fill:#eceef1|#2b2f36;stroke:#8b929e|#7d8590}\n"
    ".row{fill:#dcebfa|#1b3650;stroke:#5b93c9}\n"
    ".position{fill:#dbf1e0|#1d3d2a;stroke:#57a773}\n"
    ".head{fill:#fde6cd|#4d3317;stroke:#d98a35}\n"
    ".state{fill:#eadff7|#36264d;stroke:#9069c2|#9a78c8}\n";

const char *class_rule(OpClass op_class)
{
    return look[op_class].rule;
}

void legend_class(Legend *l, OpClass op_class)
{
    legend_add(l,
               arena_printf(l->out->arena,
                            "<rect class=\"box %s\" y=\"-9\" width=\"12\" "
                            "height=\"10\" rx=\"2\"/>",
                            look[op_class].rule),
               look[op_class].meaning);
}
