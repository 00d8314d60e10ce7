/* length.h: numbers in emitted C that may be known at compile time. Known ones
 * are added, multiplied and compared here, so that the text has a single
 * number; others are text. Everything that `fix` of a spec can make constant
 * goes through these functions: rows of a call or a sequence, keys, offsets. */
#ifndef ATTNC_EMIT_LENGTH_H
#define ATTNC_EMIT_LENGTH_H

#include "emit/gen/gen.h"

typedef struct {
    const char *text; /* NULL: the number is n */
    int64_t n;
    bool sum; /* text that needs parentheses in a product */
} Length;

Length length_of(int64_t n);
Length length_text(const char *text); /* "b->rows", not a sum */
const char *length_c(Gen *g, Length l);
bool length_is(Length l, int64_t n);
Length length_add(Gen *g, Length a, Length b);
Length length_times(Gen *g, Length a, int64_t n);
Length length_max(Gen *g, Length a, Length b);

/* Sizes of a call of the entry: */
Length call_sequences(Gen *g);
Length call_rows(Gen *g, Sym s);     /* in all sequences */
Length rows_of_type(Gen *g, Type t); /* rows of a value */
Length sequence_rows(Gen *g, Sym s); /* in the current one */
Length call_past(Gen *g);            /* cached rows before it */

/* Begins a loop from 0 to `to`, which "}\n" ends, and returns the name of its
 * counter. For a single turn it begins a block and returns NULL, for 0. */
const char *begin_each(Gen *g, Emit *e, const char *name, Length to);

#endif
