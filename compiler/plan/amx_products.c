/* amx_products.c: the products that AMX computes, if the system allows it. */
#include "plan/plan_parts.h"
#include "spec/arithmetic.h"

enum {
    UnpackedBytes = 256 << 10 /* maximum of unpacked panels: a quarter of a
                                 thread's stack */
};

int amx_panels(Dtype d, int64_t k)
{
    const int64_t bytes = ATTN_PANEL * dtype_column_bytes(DtypeInt8, k);
    const int64_t panels = UnpackedBytes / bytes;
    return !dtype_shared(d) || panels > 2 ? 2 : (int)panels;
}

bool amx_multiplies(const Plan *p, int node)
{
    const Type w = node_at(p, node_at(p, node)->in[1])->type;
    const Arithmetic a = epilogue_of(p, node).arithmetic;
    return p->target.amx && a != ArithmeticF32 && a != ArithmeticBf16Dp
        && amx_panels(dtype_of(w), matrix_columns(w)) > 0
        && (row_formats[a].scaled || !adds_terms(p, node));
}

bool plan_has_amx(const Plan *p)
{
    for (int i = 0; i < p->task.n; i++) {
        const Task *t = &p->task.at[i];
        if (t->key.kind == TaskMatmul && amx_multiplies(p, t->node))
            return true;
    }
    return false;
}
