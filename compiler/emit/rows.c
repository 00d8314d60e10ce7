/* rows.c: ops that work row by row, one call of a product or of a kernel
 * each: a product on all rows of the block, for its part of the columns, others
 * on their part of the rows.                                                */
#include "emit/names.h"
#include "emit/products.h"
#include "emit/steps.h"

static void row_matmul(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Epilogue ep = epilogue_of(g, node);
    const char *args = arena_printf(g->a, "c->rows, from, to, %s, %lld, %s",
                                    block_at(g, n->in[0]),
                                    stride_of(g, n->in[0]),
                                    weight_of(g, n->in[1], PackPanels));
    if (ep.parts & EpBias)
        args = arena_printf(g->a, "%s, %s", args,
                            weight_of(g, n->in[2], PackVector));
    args = arena_printf(g->a, "%s, %s, %lld", args, block_at(g, node),
                        stride_of(g, node));
    if (ep.parts & EpResidual)
        args = arena_printf(g->a, "%s, %s, %lld", args, block_at(g, n->in[3]),
                            stride_of(g, n->in[3]));
    put_call(e, need_matmul(g, node), args, ";");
}

static const char *vectors(Gen *g, const Node *n, int from, int to)
{
    const char *s = "";
    for (int k = from; k < to; k++)
        s = arena_printf(g->a, "%s%s, ", s, weight_of(g, n->in[k], PackVector));
    return s;
}

static void row_kernel(Gen *g, Emit *e, int node, const char *kernel,
                       int rows_in, const char *tail)
{
    const Node *n = node_at(g->p, node);
    const char *args = arena_printf(g->a, "%s, %lld, ", part_at(g, node),
                                    stride_of(g, node));
    for (int k = 0; k < rows_in; k++)
        args = arena_printf(g->a, "%s%s, %lld, ", args, part_at(g, n->in[k]),
                            stride_of(g, n->in[k]));
    args = arena_printf(g->a, "%s%srows, %lld%s", args,
                        vectors(g, n, rows_in, n->nin),
                        (long long)n->type.dim[n->type.rank - 1].c, tail);
    put_call(e, use_kernel(g->kernels, kernel), args, ";");
}

/* Norm and AddNorm, of either type; layer norm may have no beta. */
static void row_norm(Gen *g, Emit *e, int node, int rows_in)
{
    const Node *n = node_at(g->p, node);
    const bool rms = n->norm == NormRms;
    const char *beta = !rms && n->nin == rows_in + 1 ? "0, " : "";
    const char *args = arena_printf(g->a, "%s, %lld, ", part_at(g, node),
                                    stride_of(g, node));
    for (int k = 0; k < rows_in; k++)
        args = arena_printf(g->a, "%s%s, %lld, ", args, part_at(g, n->in[k]),
                            stride_of(g, n->in[k]));
    args = arena_printf(g->a, "%s%s%srows, %lld, %s", args,
                        vectors(g, n, rows_in, n->nin), beta,
                        (long long)n->type.dim[1].c, c_float(g->a, n->eps));
    const char *kernel = arena_printf(g->a, "%s%snorm_rows",
                                      rows_in == 2 ? "add_" : "",
                                      rms ? "rms_" : "");
    put_call(e, use_kernel(g->kernels, kernel), args, ";");
}

static void row_head_norm(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[1].c / n->heads;
    put_call(e, use_kernel(g->kernels, "head_norm_rows"),
             arena_printf(g->a,
                          "%s, %lld, %s, %lld, %s%srows, %lld, %lld, %s, %d",
                          part_at(g, node), stride_of(g, node),
                          part_at(g, n->in[0]), stride_of(g, n->in[0]),
                          vectors(g, n, 1, n->nin), n->nin == 2 ? "0, " : "",
                          (long long)n->heads, (long long)d,
                          c_float(g->a, n->eps), n->norm == NormRms),
             ";");
}

/* "activate_rows_relu", "gate_rows_silu" */
static const char *kernel_for(Gen *g, const char *head, Activation act)
{
    return arena_printf(g->a, "%s_%s", head, act_kernel[act]);
}

void emit_row_op(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const char *eps = arena_printf(g->a, ", %s", c_float(g->a, n->eps));
    const char *scale = arena_printf(g->a, ", %s", c_float(g->a, n->scale));
    const char *cap = arena_printf(g->a, ", %s", c_float(g->a, n->cap));
    switch (n->op) {
    case OpMatmul:
    case OpLinear:   row_matmul(g, e, node); break;
    case OpBias:     row_kernel(g, e, node, "bias_rows", 1, ""); break;
    case OpScale:    row_kernel(g, e, node, "scale_rows", 1, scale); break;
    case OpAdd:      row_kernel(g, e, node, "add_rows", 2, ""); break;
    case OpMul:      row_kernel(g, e, node, "mul_rows", 2, ""); break;
    case OpSoftcap:  row_kernel(g, e, node, "softcap_rows", 1, cap); break;
    case OpL2Norm:   row_kernel(g, e, node, "l2_norm_rows", 1, eps); break;
    case OpNorm:     row_norm(g, e, node, 1); break;
    case OpAddNorm:  row_norm(g, e, node, 2); break;
    case OpHeadNorm: row_head_norm(g, e, node); break;
    case OpActivate:
        row_kernel(g, e, node, kernel_for(g, "activate_rows", n->act), 1, "");
        break;
    case OpGate:
        row_kernel(g, e, node, kernel_for(g, "gate_rows", n->act), 2, "");
        break;
    default: die("%s does not work on rows", op_info[n->op].name);
    }
}
