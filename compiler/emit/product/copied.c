/* copied.c: chooses the data to copy for products of many rows with integer
 * weights; see products.h. */
#include "emit/product/products.h"

enum {
    CopyBytes = 256 << 10, /* maximum bytes of copies: a quarter of a thread's
                              stack */
    CopyRows = 192         /* minimum rows for which copying a panel pays off */
};

/* Chooses the number of rows to widen at once: the most that fit next to the
 * copy of a panel. Returns false if that is fewer than two tiles, or if ranks
 * add the sums, in which widened numbers + 128 would count twice. */
static bool widen(const Gen *g, Product *c, Tiling *t)
{
    const int planes = row_formats[c->ep.arithmetic].planes;
    const int64_t stored = dtype_stored(DtypeInt8, c->k);
    const int64_t column = c->column + stored;
    const int64_t line = 2 * planes * stored + 64;
    int64_t rows = (CopyBytes - ATTN_PANEL * column) / line;
    rows -= rows % t->mr;
    if (!target_widens(&g->p->target) || c->ep.parts & EpSum
        || c->ep.arithmetic == ArithmeticF32 || rows < 2 * t->mr)
        return false;
    c->ep.wide = true;
    c->column = column;
    c->line = line;
    while (t->nr * column + 2 * t->mr * line > CopyBytes)
        t->nr -= ATTN_PANEL;
    rows = (CopyBytes - t->nr * column) / line;
    rows = rows < CopyRows ? rows : CopyRows;
    c->rows = (int)(rows - rows % t->mr);
    return true;
}

/* Chooses a copy in floats for rows of floats, because widening in every tile
 * would take a third of its time. The tile is that of f32 weights, but narrower
 * and taller if its panels are too long. Sums of ranks are not scaled, which
 * these tiles always do. */
static bool copy_floats(const Gen *g, Product *c, Tiling *t)
{
    const TaskKey f32 = { .kind = TaskMatmul };
    const int64_t column = (c->k + 1)
                         * (int64_t)sizeof(float); /* and a scale */
    if (c->ep.arithmetic != ArithmeticF32 || c->ep.parts & EpSum
        || g->p->target.width == 1 || ATTN_PANEL * column > CopyBytes)
        return false;
    *t = tiling_with_defaults(&g->p->target, &f32, c->k, (Tiling){ 0 });
    t->prefetch = 1; /* the copies are in a near cache */
    while (t->nr * column > CopyBytes) {
        t->nr -= ATTN_PANEL;
        t->mr = g->p->target.tall_mr;
    }
    c->ep.wide = true;
    c->column = column;
    return true;
}

bool copied_product(const Gen *g, const Product *p, Product *copied, Tiling *t)
{
    const int64_t column = panel_column(DtypeInt8, p->k);
    if (!dtype_is_integer(p->ep.dtype) || ATTN_PANEL * column > CopyBytes)
        return false;
    *t = *p->t;
    *copied = *p;
    copied->t = t;
    copied->ep.dtype = DtypeInt8;
    copied->column = column;
    copied->from = p->ep.dtype;
    if (copy_floats(g, copied, t))
        return true;
    if (widen(g, copied, t))
        return true;
    while (t->nr * column > CopyBytes)
        t->nr -= ATTN_PANEL;
    return dtype_shared(p->ep.dtype) > 0;
}
