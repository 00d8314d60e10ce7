/* svg.c: text and colours of pictures. */
#include "draw/svg.h"

#include <string.h>

#include "base/strings.h"

const char svg_light[] =
    ".ground{fill:#fff}text{fill:#1f2328}.soft{fill:#5c6370}\n"
    ".grid{stroke:#ddd;fill:none}.edge{stroke:#999;fill:none}\n";
const char svg_dark[] =
    ".ground{fill:#16181c}text{fill:#e6e6e6}.soft{fill:#a3a8b2}\n"
    ".grid{stroke:#33363c}.edge{stroke:#777}\n";

void svg_add(Buffer *b, const char *text)
{
    for (const char *s = plain_text(b->arena, text); *s; s++)
        if (strchr("&<>\"", *s))
            buffer_printf(b, "&#%d;", *s);
        else
            buffer_add(b, s, 1);
}

void svg_begin(Buffer *b, double width, double height, double size)
{
    buffer_printf(b,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                  "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
                  "font-family=\"system-ui,-apple-system,'Segoe UI',Roboto,"
                  "'Helvetica Neue',Arial,sans-serif\" font-size=\"%g\" "
                  "role=\"img\">\n<title>",
                  width, height, width, height, size);
}

void svg_put(Buffer *b, const char *attributes, double x, double y,
             const char *text)
{
    buffer_printf(b, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    svg_add(b, text);
    buffer_printf(b, "</text>\n");
}

/* In parts of the size, from DejaVu Sans, which is wider than what others
 * have. */
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
        if (((unsigned char)*s & 0xc0) != 0x80) /* a character's first byte */
            width += letter_width((unsigned char)*s);
    return width * size * (bold ? 1.1 : 1);
}
