/* copied.c: chooses, for products of many rows with integer weights, what is
 * copied: see products.h. */
#include "emit/product/products.h"

enum {
    CopyBytes = 256 << 10, /* maximum bytes of copies: a quarter of a thread's
                              stack */
    CopyRows = 192         /* from this many rows on, the cost of copying a
                            * panel is small */
};

/* Chooses how many rows to widen at once: as many as fit next to the copy of a
 * panel. Returns false if they are fewer than two tiles. */
static bool widen(const Gen *g, Product *c, Tiling *t)
{
    const int planes = c->ep.arithmetic == ArithmeticInt15 ? 2 : 1;
    const int64_t stored = dtype_stored(DtypeInt8, c->k);
    const int64_t column = c->column + stored;
    const int64_t line = 2 * planes * stored + 64;
    int64_t rows = (CopyBytes - ATTN_PANEL * column) / line;
    rows -= rows % t->mr;
    if (!target_widens(&g->p->target) || c->ep.arithmetic == ArithmeticF32
        || rows < 2 * t->mr)
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
    copied->packed = p->column;
    copied->from = p->ep.dtype;
    if (widen(g, copied, t))
        return true;
    while (t->nr * column > CopyBytes)
        t->nr -= ATTN_PANEL;
    return dtype_shared(p->ep.dtype) > 0;
}

const char *copies_kernel(Gen *g, const Product *p)
{
    return use_kernel(g->kernels, arena_printf(g->a, "%s_%s",
                                               p->ep.wide ? "widen" : "unpack",
                                               dtype_word[p->from]));
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
    put_call(e, copies_kernel(g, p),
             arena_printf(g->a, "copy + i * %lld, w + (j + i) * %lld, %lld",
                          (long long)p->column, (long long)p->packed,
                          (long long)p->k),
             ";");
    put(e, "}\n");
    emit_reset(e, mark);
}

void put_wide_rows(Gen *g, const Product *p, const char *product, Epilogue ep)
{
    Emit *e = g->shapes;
    let(e, "rows", "%d", p->rows);
    let(e, "line", "%lld", (long long)p->line);
    let(e, "bytes", "%lld", (long long)(p->rows * p->line));
    let(e, "n", "%lld", (long long)(p->line / 2 - 32));
    let(e, "widen", "%s", use_kernel(g->kernels, "widen_rows"));
    put(e, "_Alignas(64) uint8_t wide[$bytes];\n"
           "\n"
           "for (int64_t i = 0; i < rows; i += $rows) {\n"
           "    const int64_t some = min(rows - i, $rows);\n"
           "\n"
           "    $widen(wide, $line, x + i * ldx, ldx, some, $n);\n");
    put_call(e, product,
             arena_printf(g->a,
                          "some, from, to, wide, %lld, w%s, "
                          "y + i * ldy, ldy%s",
                          (long long)p->line, ep.parts & EpBias ? ", b" : "",
                          ep.parts & EpResidual ? ", r + i * ldr, ldr" : ""),
             ";");
    put(e, "}\n");
}
