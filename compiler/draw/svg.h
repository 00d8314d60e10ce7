/* svg.h: what pictures share: text made safe and measured, their colours. */
#ifndef ATTNC_SVG_H
#define ATTNC_SVG_H

#include "base/base.h"

/* Escaped for XML; what is no text, as \xHH. */
void svg_add(Buffer *b, const char *text);
/* The head of a picture, up to what its title is; letters of `size` pixels. */
void svg_begin(Buffer *b, double width, double height, double size);
/* A line of text with attributes like " class=\"soft\"". */
void svg_put(Buffer *b, const char *attributes, double x, double y,
             const char *text);
/* At most so wide, in pixels of a sans serif of `size`: no usual font's letters
 * are wider than those that are counted.                                    */
double svg_width(const char *text, double size, bool bold);

/* Ground, text, soft text, grid and edges; a picture's own rules follow. */
extern const char svg_light[], svg_dark[];

#endif
