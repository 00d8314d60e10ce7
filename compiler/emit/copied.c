/* copied.c: products of many rows and int4: see products.h. */
#include "emit/products.h"

enum { CopyBytes = 256 << 10 }; /* at most: a quarter of a thread's stack */

/* One tile prefetches: two panels of int8 are as long as nearly four of int4.
 */
bool copied_product(const Product *p, Product *copied, Tiling *t)
{
    const int64_t column = panel_column(DtypeInt8, p->k);
    if (p->ep.dtype != DtypeInt4 || ATTN_PANEL * column > CopyBytes)
        return false;
    *t = *p->t;
    t->prefetch = t->prefetch > 1 ? 2 : 1;
    while (t->nr * column > CopyBytes)
        t->nr -= ATTN_PANEL;
    *copied = *p;
    copied->t = t;
    copied->ep.dtype = DtypeInt8;
    copied->column = column;
    copied->packed = p->column;
    return true;
}

void put_copies(Gen *g, const Product *p, int nr)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    let(e, "bytes", "%lld", (long long)(nr * p->column));
    let(e, "wide", "%d", nr);
    put(e, "_Alignas(64) int8_t copy[$bytes];\n"
           "\n"
           "for (int64_t i = 0; i < $wide; i += 16) {\n");
    put_call(e, use_kernel(g->kernels, "unpack_int4"),
             arena_printf(g->a, "copy + i * %lld, w + (j + i) * %lld, %lld",
                          (long long)p->column, (long long)p->packed,
                          (long long)p->k),
             ";");
    put(e, "}\n");
    emit_reset(e, mark);
}
