/* products.h: functions for products and for panels of them. Each need_..()
 * makes the function of a shape if it is not there yet, and returns its name.
 */
#ifndef ATTNC_EMIT_PRODUCTS_H
#define ATTNC_EMIT_PRODUCTS_H

#include "emit/gen/gen.h"

typedef struct { /* a product */
    const Tiling *t;
    int64_t fixed; /* rows that it always has; 0: any */
    int64_t k, n;
    int64_t column; /* numbers of a column in a panel, and what stands behind */
    int least;      /* rows that a call has at least */
    Epilogue ep;
    /* of a product of copies (copied.c) */
    int64_t packed; /* numbers of a column in what is copied; 0: none is */
    Dtype from;     /* its dtype */
    int rows;       /* wide: whose copies are made at once, .. */
    int64_t line;   /* .. of so many bytes */
} Product;

/* ---- product_epilogue.c ---- */
/* Of a product's weights: numbers of a column of k in a panel, in
 * number_type(), with what stands behind the panel.                         */
int64_t panel_column(Dtype d, int64_t k);
/* Of a small M: rows from which tiles prefetch the next panels; and with fewer,
 * how many bytes ahead in their own, 0: not at all. int4 is worked on so long
 * that the hardware's prefetch falls behind.                                */
int small_m_prefetches(Dtype dtype);
int small_m_ahead(Dtype dtype);
const char *epilogue_formula(Arena *a, Epilogue ep); /* "relu(x W^T + b)" */
/* rows: of a product that has no others, nor parts; 0: of any */
void matmul_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep);
/* Its parameters, as arguments. */
const char *product_arguments(Gen *g, Epilogue ep);
/* y = act(sums + bias) + residual in kernels, where no tile does it. */
typedef struct {
    const char *sums; /* "c, 32": where they are, floats from row to row */
    const char *bias;
    const char *y; /* NULL: the sums' place */
    const char *residual;
    const char *size; /* rows, columns */
} EpilogueArgs;
void put_epilogue(Gen *g, Epilogue ep, EpilogueArgs args);

/* ---- prebuilt.c ---- */

/* In code for libtcc: the struct `s` that kernels of products take. */
typedef struct {
    const Tiling *tiles, *small; /* small: NULL: no M is small */
    int64_t k, column;
    int64_t step;          /* of k: sums that are made at once .. */
    int rows, columns;     /* .. of so many rows and columns */
    const Product *copied; /* of copies of its panels; NULL: as it is */
    Epilogue ep;
} Shape;
void put_shape(Gen *g, const Shape *s);
/* The body of a product's function. */
void put_prebuilt_product(Gen *g, const Shape *s);

/* ---- panels.c ---- */
const char *need_panels(Gen *g, const Tiling *t, bool accumulate);
/* All rows against nr columns: tiles whose heights differ by one at most, for a
 * low one reads the panels as long as a high one does. They share the prefetch
 * of panels that are read soon. There are `least` rows or more, so none
 * of the lowest tiles. */
const char *need_rows(Gen *g, const Tiling *t, int least, int nr, Epilogue ep);
/* The same of as many rows as are known. */
const char *need_fixed_rows(Gen *g, const Tiling *t, int64_t rows, int nr,
                            Epilogue ep);
int tile_steps(const Tiling *t, int step[4]); /* nr, then 32, 16 */
/* What tells functions of one tiling from those of another, where a file has
 * several: "_6x64" of attention. */
const char *panels_suffix(Gen *g, const Tiling *t);
/* ", v" as the last argument, where panels are prefetched; else "". */
const char *next_panels(Gen *g, const Tiling *t, const char *next);
/* A parameter of a function that calls tiles, where none of them has it. */
void put_unused(Gen *g, bool used, const char *name);
void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters]);

/* ---- small_m.c ---- */

/* The product of a small M, for `shape` "_bias_relu_512x2048"; its call, where
 * M is small. t: of TaskSmallM.                                             */
void emit_small_m(Gen *g, const Tiling *t, const char *shape, int64_t k,
                  Epilogue ep);
void put_small_m_call(Gen *g, const Tiling *t, const char *shape, Epilogue ep);
/* The body of one whose rows are known, and few. */
void put_fixed_small_m(Gen *g, const Tiling *t, const Product *p);

/* ---- matmul.c ---- */
const char *need_matmul(Gen *g, int node);
/* Is the number of its rows a constant of its function? */
bool has_fixed_product(const Gen *g, const Node *n);

/* ---- copied.c ---- */

/* A product of integers that more rows than a tile has read in another form, in
 * copies that are made once and lie on the stack: int4, which each tile would
 * unpack again, as int8; and where the machine has no products of bytes
 * (target_widens()), both as wide ones, with copies of rows of integers.
 * False: it is multiplied as it is, or has columns that are too long. *t: its
 * tiling.                                                                    */
bool copied_product(const Gen *g, const Product *p, Product *copied, Tiling *t);
const char *copies_kernel(Gen *g, const Product *p); /* what makes a panel's */
/* Makes copies of columns j .. j + nr - 1, at `copy`. */
void put_copies(Gen *g, const Product *p, int nr);
/* Calls `product`, a function for wide rows, with some of them at a time. ep:
 * of what is copied. */
void put_wide_rows(Gen *g, const Product *p, const char *product, Epilogue ep);

#endif
