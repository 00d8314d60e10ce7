/* products.h: emits functions for products, and for products of some panels.
 * Each need_..() emits the function for a shape unless it exists, and returns
 * its name. */
#ifndef ATTNC_EMIT_PRODUCTS_H
#define ATTNC_EMIT_PRODUCTS_H

#include "emit/gen/gen.h"

typedef struct { /* a product and its loop nest */
    const Tiling *t;
    int64_t fixed; /* constant number of rows; 0: not constant */
    int64_t k, n;
    int64_t column; /* elements per column of a panel, including those stored
                     * after the panel */
    int least;      /* minimum number of rows per call */
    Epilogue ep;
    /* only for products with copies (copied.c): */
    Dtype from;   /* dtype before copying */
    int rows;     /* number of rows widened at once; 0: none */
    int64_t line; /* bytes of a widened row */
} Product;

/* ---- product_epilogue.c ---- */
/* Returns the number of elements, of number_type(), per column of a panel with
 * sums of k terms, including those stored after the panel. */
int64_t panel_column(Dtype d, int64_t k);
/* Return, for a small M, the minimum number of rows for which tiles prefetch
 * the next panels. With fewer rows, tiles prefetch small_m_ahead() bytes ahead
 * in their own panels, unless that is 0. int4 needs this, because unpacking is
 * too slow for the hardware's prefetcher. */
int small_m_prefetches(Dtype dtype);
int small_m_ahead(Dtype dtype);
const char *epilogue_formula(Arena *a, Epilogue ep); /* returns e.g.
                                                        "relu(x W^T + b)" */
/* Emits the prototype of a product's function. `rows` is the constant number of
 * rows, for a function that is never divided, or 0 for any number. */
void matmul_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep,
                      bool amx); /* `amx`: whether AMX is allowed is its first
                                  * parameter */

/* ---- product_shape.c ---- */

typedef struct { /* members of a struct shape of kernels/products.c */
    const Tiling *tiles, *small; /* tilings; `small` NULL if M is never small */
    int64_t k, column;
    int64_t step;       /* terms of a sum that are added at once */
    int rows, columns;  /* size of the block for which they are added */
    const char *copied; /* shape of the product with copies; NULL:
                         * nothing is copied */
    const char *copy;   /* in such a shape: the kernel that copies */
    int64_t row_bytes;
    Epilogue ep;
} Shape;
typedef struct { /* heights of the lowest and the highest tile */
    int least, most;
} Heights;
/* Return the heights of tiles for `least` or more rows, and for exactly `rows`
 * rows. The heights of a product's tiles differ by at most one. */
Heights heights_for(const Tiling *t, int least);
Heights heights_of(const Tiling *t, int64_t rows);
/* Emit definitions of constants named `name`. Bit n of `widths` is set for
 * tiles of n + 1 panels. */
void put_shape(Gen *g, const char *name, const Shape *s);
/* Emits the shape of the product with copies. Returns its name. */
const char *put_copied_shape(Gen *g, const char *name, const Product *c);
void put_tables(Gen *g, const char *name, const Tiling *t, unsigned widths,
                Heights rows, Epilogue ep);
void put_small_m_tables(Gen *g, const char *name, const Tiling *t, Heights rows,
                        Epilogue ep);
/* Returns the key of a tile. On scalar targets the tile does not prefetch,
 * because the compiler may not support it. */
TileKey tile_key(const Gen *g, int mr, int nr, Epilogue ep);

/* ---- panels.c ---- */
const char *need_panels(Gen *g, const Tiling *t, bool accumulate);
/* Emits a product with constant numbers of rows and panels. `args` has the
 * arguments of multiply_panels() that follow the rows. */
void put_fixed_panels(Gen *g, const Tiling *t, int64_t rows, int64_t panels,
                      const char *args);
int tile_steps(const Tiling *t, int step[4]); /* sets nr, then 32 and 16;
                                               * returns their number */
/* Returns the widths of tiles for this number of columns; 0: any number. */
unsigned widths_for(const Tiling *t, int64_t columns);
/* Returns the suffix for the functions of one tiling, e.g. "_6x64" for
 * attention, or "" if the file has only one tiling. */
const char *panels_suffix(Gen *g, const Tiling *t);
/* Returns ", " and `next`, the last argument, if panels are prefetched;
 * otherwise "". */
const char *next_panels(Gen *g, const Tiling *t, const char *next);
void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters]);

/* ---- matmul.c ---- */
const char *need_matmul(Gen *g, int node);
/* True if the product's function accepts only one constant number of rows. */
bool has_fixed_product(const Gen *g, const Node *n);

/* ---- amx_product.c ---- */

/* Returns `amx` of the bound weights as a product's first argument, or "". */
const char *amx_argument(Gen *g, int node);
/* Emits the function amx<shape>() for many rows. */
void emit_amx_product(Gen *g, const Product *p, const char *shape);
/* Emits the constant `by_amx`, the product's shape for kernels/amx.c. */
void put_amx_shape(Gen *g, const Product *p);

/* ---- copied.c ---- */

/* Decides if an integer product with more rows than a tile uses copies of its
 * panels, which are made once, on the stack. int4 is unpacked to int8, because
 * otherwise each tile would unpack it again. On targets without byte products
 * (target_widens()), weights and rows are widened to 16 bits. Returns false if
 * the product uses no copies or its columns are too long. Otherwise sets
 * *copied, and *t to its tiling. */
bool copied_product(const Gen *g, const Product *p, Product *copied, Tiling *t);

#endif
