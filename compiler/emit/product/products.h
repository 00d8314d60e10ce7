/* products.h: functions for products and for panels of them. Each need_..()
 * emits the function for a shape if it does not exist yet, and returns its
 * name. */
#ifndef ATTNC_EMIT_PRODUCTS_H
#define ATTNC_EMIT_PRODUCTS_H

#include "emit/gen/gen.h"

typedef struct { /* a product and its loop nest */
    const Tiling *t;
    int64_t fixed; /* number of rows if known; else 0 */
    int64_t k, n;
    int64_t column; /* numbers between columns of a panel, with those after
                       its end */
    int least;      /* least rows of a call */
    Epilogue ep;
    /* only for products with copies (copied.c): */
    int64_t packed; /* column before copying; 0: not copied */
    Dtype from;     /* dtype before copying */
    int rows;       /* rows widened at once; 0: none */
    int64_t line;   /* bytes of a widened row */
} Product;

/* ---- product_epilogue.c ---- */
/* Returns the numbers of a column of k in a panel, in number_type(), with those
 * stored after the panel. */
int64_t panel_column(Dtype d, int64_t k);
/* For a small M: fewest rows for which tiles prefetch the next panels. With
 * fewer rows they prefetch small_m_ahead() bytes ahead in their own panels,
 * unless it is 0. int4 needs this because its unpacking is too slow for the
 * hardware's prefetcher. */
int small_m_prefetches(Dtype dtype);
int small_m_ahead(Dtype dtype);
const char *epilogue_formula(Arena *a, Epilogue ep); /* e.g. "relu(x W^T +
                                                        b)" */
/* rows: the known number, without parts; 0: any number. */
void matmul_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep);
/* Returns its parameters as arguments. */
const char *product_arguments(Gen *g, Epilogue ep);
/* Emits act(sums + bias) + residual as kernels, if no tile does it. */
typedef struct {
    const char *sums; /* "c, 32": address and floats between rows */
    const char *bias;
    const char *y; /* NULL: in place of the sums */
    const char *residual;
    const char *size; /* rows and columns */
} EpilogueArgs;
void put_epilogue(Gen *g, Epilogue ep, EpilogueArgs args);

/* ---- prebuilt.c ---- */

/* In code for libtcc: contents of the struct `s` that kernels of products
 * take. */
typedef struct {
    const Tiling *tiles, *small; /* small NULL: no M is small */
    int64_t k, column;
    int64_t step;          /* block of k that is summed at once, */
    int rows, columns;     /* for this many rows and columns */
    const Product *copied; /* the product with copies; NULL: without */
    Epilogue ep;
} Shape;
void put_shape(Gen *g, const Shape *s);
/* Emits the body of a product's function. */
void put_prebuilt_product(Gen *g, const Shape *s);

/* ---- panels.c ---- */
const char *need_panels(Gen *g, const Tiling *t, bool accumulate);
/* Returns the function for all rows and nr columns. Heights of its tiles differ
 * by at most one, because a low tile reads the panels as long as a high one.
 * Tiles share the prefetch of the next panels. With at least `least` rows it
 * omits the lowest tiles. */
const char *need_rows(Gen *g, const Tiling *t, int least, int nr, Epilogue ep);
/* Like need_rows(), for a known number of rows. */
const char *need_fixed_rows(Gen *g, const Tiling *t, int64_t rows, int nr,
                            Epilogue ep);
int tile_steps(const Tiling *t, int step[4]); /* nr, then 32 and 16 */
/* Returns the suffix for functions of one tiling if a file has several: "_6x64"
 * of attention. */
const char *panels_suffix(Gen *g, const Tiling *t);
/* Returns ", " and `next` as a last argument if panels are prefetched; else
 * "". */
const char *next_panels(Gen *g, const Tiling *t, const char *next);
/* Silences the warning about a parameter that no tile uses. */
void put_unused(Gen *g, bool used, const char *name);
void put_tile(Gen *g, int mr, int nr, Epilogue ep,
              const char *const text[TileParameters]);

/* ---- small_m.c ---- */

/* Emits the product of a small M for a `shape` like "_bias_relu_512x2048", and
 * its call if M is small. t: of TaskSmallM. */
void emit_small_m(Gen *g, const Tiling *t, const char *shape, int64_t k,
                  Epilogue ep);
void put_small_m_call(Gen *g, const Tiling *t, const char *shape, Epilogue ep);
/* Emits the body of a product whose rows are known and few. */
void put_fixed_small_m(Gen *g, const Tiling *t, const Product *p);

/* ---- matmul.c ---- */
const char *need_matmul(Gen *g, int node);
/* True if its function is for one constant number of rows. */
bool has_fixed_product(const Gen *g, const Node *n);

/* ---- copied.c ---- */

/* Decides whether a product of integers with more rows than a tile uses copies
 * of its panels, made once on the stack. int4 is unpacked to int8, because
 * otherwise each tile would unpack it again. Without byte products
 * (target_widens()) weights and rows are widened to 16 bits. Returns false if
 * it is multiplied directly, or its columns are too long. *t: its tiling. */
bool copied_product(const Gen *g, const Product *p, Product *copied, Tiling *t);
const char *copies_kernel(Gen *g, const Product *p); /* kernel that copies a
                                                        panel */
/* Emits the copies of columns j to j + nr - 1 into `copy`. */
void put_copies(Gen *g, const Product *p, int nr);
/* Emits calls of `product`, a function for widened rows, for a few rows at a
 * time. ep: of the original product. */
void put_wide_rows(Gen *g, const Product *p, const char *product, Epilogue ep);

#endif
