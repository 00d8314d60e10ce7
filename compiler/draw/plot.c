/* plot.c: draws the grid of a plot and the labels of its marks. */
#include "draw/plot.h"
#include <math.h>

/* Colours that colour-blind readers can distinguish [Okabe and Ito 2008]. */
const char plot_sheet[] =
    ".c0{fill:#0072b2|#56b4e9}.c1{fill:#c04f00|#f0a030}"
    ".c2{fill:#007a5a|#2fc79a}\n"
    ".c3{fill:#a0457a|#e08fc0}.c4{fill:#806c00|#e6d040}"
    ".c5{fill:#555555|#bbbbbb}\n"
    ".dot{fill:#0072b2|#56b4e9}.best{fill:#c04f00|#f0a030}\n"
    ".line{stroke:#0072b2|#56b4e9;stroke-width:2;fill:none}\n"
    ".front{stroke:#c04f00|#f0a030;stroke-width:1.5;fill:none}\n"
    ".limit{stroke:#007a5a|#2fc79a;stroke-width:2;stroke-dasharray:6 4;"
    "fill:none}\n"
    ".lead{stroke:#999|#777;stroke-width:.7;fill:none}\n";

Plot plot_new(Buffer *out, Area at, Scale x, Scale y)
{
    const Area inside = { at.x + 1, at.y + 1, at.w - 2, at.h - 2 };
    return (Plot){ out, at, x, y, { .arena = out->arena, .inside = inside } };
}

Point plot_point(const Plot *p, double x, double y)
{
    return (Point){ p->at.x + p->at.w * scale_part(&p->x, x),
                    p->at.y + p->at.h * (1 - scale_part(&p->y, y)) };
}

void plot_grid_x(const Plot *p, const double *tick, int n, bool texts)
{
    double end = -INFINITY; /* right end of the last text drawn */
    for (int i = 0; i < n; i++) {
        const double x = p->at.x + p->at.w * scale_part(&p->x, tick[i]);
        const char *text = scale_text(p->out->arena, &p->x, tick[i], 4);
        const double half = svg_width(text, LabelSize, false) / 2 + 2;
        buffer_printf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fv%g\"/>\n", x,
                      p->at.y, p->at.h);
        if (!texts || x - half < end)
            continue;
        end = x + half;
        svg_text(p->out, "soft tick mid", x, p->at.y + p->at.h + 14, "%s",
                 text);
    }
}

void plot_grid_y(const Plot *p, int about, bool texts)
{
    double tick[MostTicks];
    const int n = scale_ticks(&p->y, about, tick);
    for (int i = 0; i < n; i++) {
        const double y = p->at.y + p->at.h * (1 - scale_part(&p->y, tick[i]));
        buffer_printf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fh%g\"/>\n",
                      p->at.x, y, p->at.w);
        if (texts)
            svg_text(p->out, "soft tick end", p->at.x - 6, y + 3.5, "%s",
                     scale_text(p->out->arena, &p->y, tick[i], 4));
    }
}

void plot_edge(const Plot *p)
{
    svg_rect(p->out, "edge", p->at, 0);
}

void plot_sides(const Plot *p, const char *x, const char *y)
{
    if (x)
        svg_text(p->out, "mid", p->at.x + p->at.w / 2, p->at.y + p->at.h + 32,
                 "%s", x);
    if (y)
        svg_side(p->out, page_edge + 10, p->at.y + p->at.h / 2, y);
}

bool plot_label(Plot *p, const char *rules, Point at, const char *text,
                LeadKind leads)
{
    LabelPlace to;
    if (!labels_place(&p->labels, at, text, leads, &to))
        return false;
    if (to.lead)
        svg_line(p->out, "lead", (Point[]){ at, to.lead_to }, 2, "");
    const double left = to.box.x, right = left + to.box.w;
    const char *anchor = left >= at.x ? "" : right <= at.x ? " end" : " mid";
    svg_text(p->out, arena_printf(p->out->arena, "%s tick%s", rules, anchor),
             left >= at.x    ? left
             : right <= at.x ? right
                             : (left + right) / 2, /* centred, because the font
                                                      may be narrower than
                                                      computed */
             to.box.y + (double)LabelSize - 1, "%s", text);
    return true;
}
