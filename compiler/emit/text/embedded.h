/* embedded.h: the texts embedded in attnc. Their names are file names, e.g.
 * "kernels.c", or paths below models/, e.g. "new/gpt.yaml". base/embed.c makes
 * the table at build time. */
#ifndef ATTNC_EMIT_EMBEDDED_H
#define ATTNC_EMIT_EMBEDDED_H

#include <stddef.h>

typedef struct Embedded {
    const char *name, *text;
    size_t size;
} Embedded;
extern const Embedded embedded[];
extern const int n_embedded;
const char *embedded_text(const char *name, size_t *n); /* calls die() if there
                                                         * is no such text */

#endif
