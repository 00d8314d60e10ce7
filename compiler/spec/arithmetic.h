/* arithmetic.h: the arithmetics of products: which weights they read, and how
 * they store rows. */
#ifndef ATTNC_ARITHMETIC_H
#define ATTNC_ARITHMETIC_H

#include "runtime/weights/formats.h"
#include "spec/words.h"

/* True if products with weights of this format compute in the arithmetic;
 * others compute in f32. */
bool arithmetic_reads(Arithmetic a, Dtype d);
/* Returns the format in which matrices of a product are stored whose `dtype` is
 * d: bf16x3 splits f32 when it is packed. */
Dtype arithmetic_dtype(Arithmetic a, Dtype d);
/* Returns a dtype that the arithmetic reads. */
Dtype arithmetic_needs(Arithmetic a);

typedef struct {        /* rows that products read */
    const char *kernel; /* makes such rows from floats; NULL: none is needed */
    const char *type;   /* of a number, in C */
    int bytes;          /* of a number */
    int planes;         /* numbers per element, each in a plane of its own */
    Dtype groups;       /* a plane has full groups of this format */
    bool scaled;        /* integers, and behind them a scale */
} RowFormat;
extern const RowFormat row_formats[Arithmetics];

#endif
