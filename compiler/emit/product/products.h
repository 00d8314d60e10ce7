/* products.h: emits functions for products and for panels of them. Each
 * need_..() emits the function for a shape unless it exists, and returns its
 * name. */
#ifndef ATTNC_EMIT_PRODUCTS_H
#define ATTNC_EMIT_PRODUCTS_H

#include "emit/gen/gen.h"

typedef struct { /* a product and its loop nest */
    const Tiling *t;
    int64_t fixed; /* number of rows; 0: not constant */
    int64_t k, n;
    int64_t column; /* elements from one column of a panel to the next,
                     * including those after the panel's end */
    int least;      /* minimum number of rows of a call */
    Epilogue ep;
    /* only for products with copies (copied.c): */
    int64_t packed; /* `column` before copying; 0: panels are not copied */
    Dtype from;     /* dtype before copying */
    int rows;       /* number of rows widened at once; 0: none */
    int64_t line;   /* bytes of a widened row */
} Product;

/* ---- product_epilogue.c ---- */
/* Returns how many elements, of number_type(), a panel has for each column of k
 * terms, including those stored after the panel. */
int64_t panel_column(Dtype d, int64_t k);
/* Return, for a small M, the minimum number of rows with which tiles prefetch
 * the next panels. With fewer rows, tiles prefetch small_m_ahead() bytes ahead
 * in their own panels, unless that is 0. int4 needs it because unpacking is too
 * slow for the hardware's prefetcher. */
int small_m_prefetches(Dtype dtype);
int small_m_ahead(Dtype dtype);
const char *epilogue_formula(Arena *a, Epilogue ep); /* returns e.g.
                                                        "relu(x W^T + b)" */
/* Emits the prototype of a product's function. `rows` is the constant number of
 * rows, for a function without parts; 0: any number. */
void matmul_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep);
/* Returns the arguments for the parameters of matmul_prototype(). */
const char *product_arguments(Gen *g, Epilogue ep);
/* Calls of kernels that compute act(sums + bias) + residual if no tile does. */
typedef struct {
    const char *sums; /* address of the sums and floats between rows: "c, 32" */
    const char *bias;
    const char *y; /* destination; NULL: the sums are replaced */
    const char *residual;
    const char *size; /* numbers of rows and columns */
} EpilogueArgs;
void put_epilogue(Gen *g, Epilogue ep, EpilogueArgs args);

/* ---- prebuilt.c ---- */

/* In code for libtcc: the members of struct `s`, which kernels of products
 * take. */
typedef struct {
    const Tiling *tiles, *small; /* tilings; `small` NULL if M is never small */
    int64_t k, column;
    int64_t step;          /* terms of a sum that are added at once, */
    int rows, columns;     /* for a block of this many rows and columns */
    const Product *copied; /* the product that uses copies; NULL: none does */
    Epilogue ep;
} Shape;
void put_shape(Gen *g, const Shape *s);
/* Emits the body of a product's function, a call of a prebuilt kernel. */
void put_prebuilt_product(Gen *g, const Shape *s);

/* ---- panels.c ---- */
const char *need_panels(Gen *g, const Tiling *t, bool accumulate);
/* Returns the function for all rows and nr columns. The heights of its tiles
 * differ by at most one, because a low tile takes as long to read the panels as
 * a tall one. Tiles share the prefetch of the next panels. For calls of at
 * least `least` rows, the lowest tiles are left out. */
const char *need_rows(Gen *g, const Tiling *t, int least, int nr, Epilogue ep);
/* Like need_rows(), for a constant number of rows. */
const char *need_fixed_rows(Gen *g, const Tiling *t, int64_t rows, int nr,
                            Epilogue ep);
int tile_steps(const Tiling *t, int step[4]); /* sets nr, then 32 and 16;
                                               * returns how many */
/* Returns the suffix for the functions of one tiling, "_6x64" of attention, or
 * "" if the file has only one. */
const char *panels_suffix(Gen *g, const Tiling *t);
/* Returns ", " and `next`, the last argument, if panels are prefetched;
 * otherwise "". */
const char *next_panels(Gen *g, const Tiling *t, const char *next);
void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters]);

/* ---- small_m.c ---- */

/* Emits the function of a small-M product, for a `shape` such as
 * "_bias_relu_512x2048", and its call if M is small. `t` is the tiling of
 * TaskSmallM. */
void emit_small_m(Gen *g, const Tiling *t, const char *shape, int64_t k,
                  Epilogue ep);
void put_small_m_call(Gen *g, const Tiling *t, const char *shape, Epilogue ep);
/* Emits the body of a product with a small, constant number of rows. */
void put_fixed_small_m(Gen *g, const Tiling *t, const Product *p);

/* ---- matmul.c ---- */
const char *need_matmul(Gen *g, int node);
/* True if the product's function is for one constant number of rows. */
bool has_fixed_product(const Gen *g, const Node *n);

/* ---- copied.c ---- */

/* Decides if an integer product with more rows than a tile uses copies of its
 * panels, which are made once, on the stack. int4 is unpacked to int8, because
 * otherwise each tile would unpack it again. On targets without byte products
 * (target_widens()), weights and rows are widened to 16 bits. Returns false if
 * the product uses no copies, or if its columns are too long. Otherwise sets
 * *copied, and *t to its tiling. */
bool copied_product(const Gen *g, const Product *p, Product *copied, Tiling *t);
const char *copies_kernel(Gen *g, const Product *p); /* returns the kernel that
                                                      * copies a panel */
/* Emits code that copies columns j to j + nr - 1 to `copy`. */
void put_copies(Gen *g, const Product *p, int nr);
/* Emits calls of `product`, a function for widened rows, for a few rows at a
 * time. `ep` is the epilogue of the original product. */
void put_wide_rows(Gen *g, const Product *p, const char *product, Epilogue ep);

#endif
