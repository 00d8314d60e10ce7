/* length.h: numbers in emitted C that may be known already. What is known is
 * added, multiplied and compared here, so that a text has one number for it;
 * what is not is text. Whatever `fix` of a spec makes a constant, rows of a
 * call, of a sequence, keys, places in memory, goes through these.           */
#ifndef ATTNC_EMIT_LENGTH_H
#define ATTNC_EMIT_LENGTH_H

#include "emit/gen/gen.h"

typedef struct {
    const char *text; /* NULL: it is n */
    int64_t n;
    bool sum; /* text that needs parentheses in a product */
} Length;

Length length_of(int64_t n);
Length length_text(const char *text); /* "b->rows": no sum */
const char *length_c(Gen *g, Length l);
bool length_is(Length l, int64_t n);
Length length_add(Gen *g, Length a, Length b);
Length length_times(Gen *g, Length a, int64_t n);
Length length_max(Gen *g, Length a, Length b);

/* Of a call of the entry: */
Length call_sequences(Gen *g);
Length call_rows(Gen *g, Sym s);     /* of all sequences */
Length rows_of_type(Gen *g, Type t); /* the same of a value */
Length sequence_rows(Gen *g, Sym s); /* of the sequence at hand */
Length call_past(Gen *g);            /* its rows before the new ones */

/* A loop from 0 on, which "}\n" ends; the name of what it counts. Where it has
 * one turn there is none, and NULL, for 0.                                  */
const char *begin_each(Gen *g, Emit *e, const char *name, Length to);

#endif
