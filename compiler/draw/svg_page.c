/* svg_page.c: what the pictures of a graph and of an arena have alike. */
#include <math.h>

#include "draw/svg_page.h"

static const double title_text = 16, line_step = 16;

static const struct {
    const char *rule, *meaning;
    const char *light, *dark; /* fill and stroke */
} look[] = {
    [ClassSource] = { "source", "in and out", "fill:#eceef1;stroke:#8b929e",
                      "fill:#2b2f36;stroke:#7d8590" },
    [ClassRow] = { "row", "row by row", "fill:#dcebfa;stroke:#5b93c9",
                   "fill:#1b3650;stroke:#5b93c9" },
    [ClassPosition] = { "position", "knows its position",
                        "fill:#dbf1e0;stroke:#57a773",
                        "fill:#1d3d2a;stroke:#57a773" },
    [ClassHead] = { "head", "mixes rows", "fill:#fde6cd;stroke:#d98a35",
                    "fill:#4d3317;stroke:#d98a35" },
    [ClassState] = { "state", "writes the cache", "fill:#eadff7;stroke:#9069c2",
                     "fill:#36264d;stroke:#9a78c8" },
    [ClassSink] = { "source", "in and out", NULL, NULL },
};
enum { Looks = sizeof look / sizeof *look };

const char *class_rule(OpClass op_class)
{
    return look[op_class].rule;
}

const char *class_meaning(OpClass op_class)
{
    return look[op_class].meaning;
}

static void put_looks(Buffer *out, bool dark)
{
    for (int i = 0; i < Looks; i++)
        if (look[i].light)
            buffer_printf(out, ".%s{%s}\n", look[i].rule,
                          dark ? look[i].dark : look[i].light);
}

void page_text(Buffer *out, double x, double y, const char *rule, double size,
               const char *text)
{
    buffer_printf(out,
                  "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" "
                  "font-size=\"%g\">",
                  rule, x, y, size);
    svg_add(out, text);
    buffer_printf(out, "</text>\n");
}

double page_width(const PageHead *head)
{
    return 2 * page_edge
         + fmax(svg_width(head->name, title_text, true),
                svg_width(head->text, box_text, false));
}

void page_begin(Buffer *out, const PageHead *head)
{
    svg_begin(out, head->width, head->height, box_text);
    svg_add(out, head->name);
    buffer_printf(out, ": %s</title>\n<style>\n%s", head->what, svg_light);
    buffer_printf(out, ".b{font-weight:600}.box{stroke-width:1}\n"
                       ".frame{fill:#f4f5f7;stroke:#c3c8d0}\n");
    put_looks(out, false);
    buffer_printf(out, "%s@media(prefers-color-scheme:dark){\n%s", head->light,
                  svg_dark);
    buffer_printf(out, ".frame{fill:#1f2228;stroke:#3d424b}\n");
    put_looks(out, true);
    buffer_printf(out,
                  "%s}\n</style>\n<rect class=\"ground\" width=\"100%%\" "
                  "height=\"100%%\"/>\n",
                  head->dark);
    page_text(out, page_edge, page_edge + 10, "b", title_text, head->name);
    page_text(out, page_edge, page_edge + 26, "soft", box_text, head->text);
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
    page_text(l->out, l->x + sign_room, l->y, "soft", soft_text, text);
    l->x += 0.86 * room + 18; /* most fonts are narrower */
}

void legend_class(Legend *l, OpClass op_class)
{
    legend_add(l,
               arena_printf(l->out->arena,
                            "<rect class=\"box %s\" y=\"-9\" width=\"12\" "
                            "height=\"10\" rx=\"2\"/>",
                            class_rule(op_class)),
               class_meaning(op_class));
}
