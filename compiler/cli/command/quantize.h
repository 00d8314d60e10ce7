/* quantize.h: the parts of `attnc quantize`. */
#ifndef ATTNC_CLI_QUANTIZE_H
#define ATTNC_CLI_QUANTIZE_H

#include "cli/options/options.h"
#include "diff/loss.h"

/* quantize_text.c: the lines of a file as passages for an open engine; empty
 * lines are passed over. ExitInput after a message for each that is not right.
 */
int passages_read(Passages *to, const Engine *e, const File *text, bool ids);

typedef struct { /* all that came out */
    Arena *arena;
    const Engine *e; /* as the spec has it */
    Matrices matrices;
    int fewer; /* of these have fewer bits than f32, the worst first: */
    const Matrix *const *worst;
    const Passages *text; /* NULL: none was given */
    Loss loss;
    const char *limit; /* --keep; NULL: none was given */
    double most;       /* that is, as a share of 1 */
    Kept kept;
    bool met;
} Quantized;

/* quantize_print.c */
void quantized_print(const Quantized *q);
void quantized_json(const Quantized *q);

#endif
