/* product_epilogue.c: emits the epilogues of products in comments and
 * prototypes. */
#include "emit/product/products.h"

const char *epilogue_formula(Arena *a, Epilogue ep)
{
    const char *s = ep.parts & EpBias ? "x W^T + b" : "x W^T";
    if (ep.act)
        s = arena_printf(a, "%s(%s)", act_text[ep.act].plain, s);
    return ep.parts & EpResidual ? arena_printf(a, "%s + r", s) : s;
}

int64_t panel_column(Dtype d, int64_t k)
{
    return dtype_column_bytes(d, k) / element_bytes(d);
}

/* With this many rows or more, the arithmetic on panels takes about as long as
 * reading them from memory. With fewer, the hardware's own prefetch measured up
 * to a third faster. */
int small_m_prefetches(Dtype dtype)
{
    return dtype == DtypeF32 ? 7 : FewIntegerRows;
}

int small_m_ahead(Dtype dtype)
{
    return dtype_shared(dtype) ? 4096 : 0;
}

void matmul_prototype(Gen *g, const char *name, int64_t rows, Epilogue ep,
                      bool amx)
{
    const char *args = arena_printf(
        g->a,
        "%s%s%sconst %s *x, int64_t ldx, const %s *w, %sfloat *y, "
        "int64_t ldy%s",
        amx ? "int64_t amx, " : "",
        rows ? "" : "int64_t rows, int64_t from, int64_t to, ",
        ep.parts & EpSum ? "int64_t k, " : "", rows_type(ep.arithmetic),
        number_type(ep.dtype), ep.parts & EpBias ? "const float *b, " : "",
        ep.parts & EpResidual ? ", const float *r, int64_t ldr" : "");
    put_call(g->shapes, arena_printf(g->a, "static void %s", name), args, "");
}
