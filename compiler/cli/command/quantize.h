/* quantize.h: the parts of `attnc quantize`. */
#ifndef ATTNC_CLI_QUANTIZE_H
#define ATTNC_CLI_QUANTIZE_H

#include "cli/options/options.h"
#include "diff/loss.h"

/* quantize_text.c: reads the lines of a file as passages for an open engine.
 * Skips empty lines. Reports all invalid lines and then returns ExitInput. */
int passages_read(Passages *to, const Engine *e, const File *text, bool ids);

typedef struct { /* the data that attnc quantize reports */
    Arena *arena;
    const Engine *e; /* the model with the spec's own dtypes */
    Matrices matrices;
    int fewer; /* number of matrices with fewer bits than f32 */
    const Matrix *const *worst;
    const Passages *text; /* text on which results are compared, or NULL */
    Loss loss;
    const char *limit; /* value of --keep; NULL: not given */
    double most;       /* the value of --keep as a fraction: 0.01 is 1 % */
    Kept kept;
    bool met;
} Quantized;

/* quantize_print.c */
void quantized_print(const Quantized *q);
void quantized_json(const Quantized *q);

#endif
