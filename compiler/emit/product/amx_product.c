/* amx_product.c: emits products of many rows in the registers of AMX, beside
 * those in vectors, which compute the same bits; see products.h. */
#include "emit/product/products.h"
#include "spec/arithmetic.h"

const char *amx_argument(Gen *g, int node)
{
    if (!amx_multiplies(g->p, node))
        return "";
    return g->only ? "0, " : "c->w->amx, "; /* tune times tiles of vectors */
}

/* int15 multiplies both parts of 16 rows, others 32 rows. */
static Shape amx_shape(const Product *p, Tiling *t)
{
    const bool two = row_formats[p->ep.arithmetic].planes == 2;
    *t = (Tiling){ .prefetch = 1, /* none by tiles */
                   .mr = two ? 16 : 32,
                   .nr = ATTN_PANEL * amx_panels(p->ep.dtype, p->k) };
    return (Shape){ .tiles = t, .k = p->k, .column = p->column, .ep = p->ep };
}

void put_amx_shape(Gen *g, const Product *p)
{
    Tiling t, one = { .nr = ATTN_PANEL };
    Shape s = amx_shape(p, &t);
    if (dtype_shared(p->ep.dtype)) {
        Product c = *p;
        c.t = &one;
        c.from = p->ep.dtype;
        c.ep.dtype = DtypeInt8;
        c.column = panel_column(DtypeInt8, p->k);
        s.copied = put_copied_shape(g, "unpacked", &c);
    }
    put_shape(g, "by_amx", &s);
}

void emit_amx_product(Gen *g, const Product *p, const char *shape)
{
    Emit *e = g->shapes;
    const int mark = emit_mark(e);
    const bool copies = dtype_shared(p->ep.dtype) > 0;
    const TileKey block = { .mr = 1,
                            .nr = ATTN_PANEL,
                            .dtype = p->ep.dtype,
                            .arithmetic = p->ep.arithmetic,
                            .epilogue = p->ep.parts,
                            .act = p->ep.act,
                            .width = g->p->target.width,
                            .amx = true };
    let(e, "bytes", "%lld",
        (long long)(amx_panels(p->ep.dtype, p->k) * ATTN_PANEL
                    * panel_column(DtypeInt8, p->k)));
    put(e, "/* Computes the product below for many rows, by AMX. */\n");
    matmul_prototype(g, arena_printf(g->a, "amx%s", shape), 0, p->ep, false);
    put(e, "{\n");
    put_amx_shape(g, p);
    if (copies)
        put(e, "_Alignas(64) int8_t copy[$bytes];\n");
    put(e, "\n");
    put_call(e, use_kernel(g->kernels, "amx_product"),
             arena_printf(g->a,
                          "&by_amx, %s, %s, rows, from, to, x, ldx, w, y, ldy, "
                          "%s, %s",
                          use_tile(g->kernels, block), copies ? "copy" : "0",
                          p->ep.parts & EpBias ? "b" : "0",
                          p->ep.parts & EpResidual ? "r, ldr" : "0, 0"),
             ";");
    put(e, "}\n\n");
    emit_reset(e, mark);
}
