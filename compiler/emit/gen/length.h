/* length.h: numbers in emitted C that may be constant. Constants are added,
 * multiplied and compared here, so that the text contains only the result;
 * other numbers are C expressions. These functions handle every number that a
 * spec's `fix` can make constant: rows of a call or a sequence, keys,
 * offsets. */
#ifndef ATTNC_EMIT_LENGTH_H
#define ATTNC_EMIT_LENGTH_H

#include "emit/gen/gen.h"

typedef struct {
    const char *text; /* C expression; NULL: the number is the constant n */
    int64_t n;
    bool sum; /* the expression needs parentheses when multiplied */
} Length;

Length length_of(int64_t n);
/* For an expression that is not a sum, e.g. "b->rows". */
Length length_text(const char *text);
const char *length_c(Gen *g, Length l);
bool length_is(Length l, int64_t n);
Length length_add(Gen *g, Length a, Length b);
Length length_times(Gen *g, Length a, int64_t n);
Length length_max(Gen *g, Length a, Length b);

/* Return sizes of a call of the current entry: */
Length call_sequences(Gen *g);
Length call_rows(Gen *g, Sym s);     /* rows of all sequences */
Length rows_of_type(Gen *g, Type t); /* rows of a value */
Length sequence_rows(Gen *g, Sym s); /* rows of the current sequence */
Length call_past(Gen *g);            /* cached rows before those of the current
                                      * sequence */

/* Begins a loop from 0 to `to` and returns the name of its counter. If `to` is
 * the constant 1, begins a block and returns NULL, because the counter would
 * always be 0. The caller ends it with "}\n". */
const char *begin_each(Gen *g, Emit *e, const char *name, Length to);

#endif
