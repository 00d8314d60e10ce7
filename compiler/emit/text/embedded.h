/* embedded.h: texts that attnc carries, by file name: "kernels.c", those of
 * models/ as "new/gpt.yaml". The table is made when attnc is built
 * (base/embed.c). */
#ifndef ATTNC_EMIT_EMBEDDED_H
#define ATTNC_EMIT_EMBEDDED_H

#include <stddef.h>

typedef struct Embedded {
    const char *name, *text;
    size_t size;
} Embedded;
extern const Embedded embedded[];
extern const int n_embedded;
const char *embedded_text(const char *name, size_t *n); /* else die()s */

#endif
