/* prebuilt.c: emits products in code for libtcc, as calls of
 * kernels/products.c, which attnc contains compiled for this machine. The shape
 * is an argument. */
#include "emit/product/products.h"

static void put_copied(Gen *g, const Product *p)
{
    Emit *e = g->shapes;
    let(e, "kind", "%d",
        prebuilt_kind(p->ep.dtype, p->ep.arithmetic, p->ep.wide));
    let(e, "rows", "%d", p->rows);
    let(e, "line", "%lld", (long long)p->line);
    let(e, "shared", "%lld", (long long)dtype_shared(p->from));
    let(e, "nr", "%d", p->t->nr);
    let(e, "panel", "%lld", (long long)(ATTN_PANEL * p->column));
    put(e, ".copied_kind = $kind, .copied_nr = $nr,\n"
           ".copied_panel = $panel, .copied_shared = $shared,\n"
           ".copied_rows = $rows, .copied_line = $line,\n");
}

void put_shape(Gen *g, const Shape *s)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const Dtype dtype = s->ep.dtype;
    let(e, "kind", "%d", prebuilt_kind(dtype, s->ep.arithmetic, false));
    let(e, "x_bytes", "%d", s->ep.arithmetic == ArithmeticF32 ? 4 : 1);
    let(e, "bytes", "%d",
        dtype_is_integer(dtype) ? 1 : (int)dtype_column_bytes(dtype, 1));
    let(e, "k", "%lld", (long long)s->k);
    let(e, "column", "%lld", (long long)s->column);
    let(e, "mr", "%d", s->tiles->mr);
    let(e, "nr", "%d", s->tiles->nr);
    let(e, "line", "%d", line_numbers(dtype));
    let(e, "fetch", "%d", s->tiles->prefetch - 1);
    let(e, "step", "%lld", (long long)s->step);
    let(e, "rows", "%d", s->rows);
    let(e, "columns", "%d", s->columns);
    let(e, "small_m", "%d", s->small ? s->small->small_m : 0);
    let(e, "streams", "%d", s->small ? s->small->streams : 0);
    let(e, "small_m_fetch", "%d", small_m_prefetches(dtype));
    let(e, "small_m_ahead", "%d", small_m_ahead(dtype));
    let(e, "act", "%d", s->ep.act);
    put(e, "static const struct shape s = {\n"
           "    .kind = $kind, .x_bytes = $x_bytes, .bytes = $bytes,\n"
           "    .k = $k, .column = $column,\n"
           "    .mr = $mr, .nr = $nr, .line = $line, .fetch = $fetch,\n"
           "    .step = $step, .rows = $rows, .columns = $columns,\n"
           "    .small_m = $small_m, .streams = $streams,\n"
           "    .small_m_fetch = $small_m_fetch,\n"
           "    .small_m_ahead = $small_m_ahead,\n");
    if (s->copied)
        put_copied(g, s->copied);
    put(e, ".act = $act\n"
           "};\n"
           "\n");
    emit_reset(e, mark);
}

void put_prebuilt_product(Gen *g, const Shape *s)
{
    put_shape(g, s);
    put_call(g->shapes, use_kernel(g->kernels, "product"),
             arena_printf(g->a, "&s, rows, from, to, x, ldx, w, y, ldy, %s, %s",
                          s->ep.parts & EpBias ? "b" : "0",
                          s->ep.parts & EpResidual ? "r, ldr" : "0, 0"),
             ";");
}
