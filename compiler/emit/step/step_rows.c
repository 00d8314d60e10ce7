/* step_rows.c: emits ops that work row by row, as one call of a product or a
 * kernel. For a product, a thread computes its columns for all rows of the
 * block; for other ops, it computes its rows. */
#include "emit/gen/length.h"
#include "emit/gen/c_names.h"
#include "emit/product/products.h"
#include "emit/gen/step.h"

/* Returns the format of a value's rows. */
static const RowFormat *format_of(const Gen *g, int node)
{
    return &row_formats[elem_arithmetic(node_at(g->p, node)->type.elem)];
}

/* Returns C for the number of rows of the part or, if the step is never
 * divided, of all rows. */
static const char *some_rows(Gen *g, const Node *n)
{
    return g->undivided ? length_c(g, rows_of_type(g, n->type)) : "rows";
}

void emit_quantize(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const long long k = n->type.dim[1].c;
    const RowFormat *f = format_of(g, node);
    put_call(e, use_kernel(g->kernels, f->kernel),
             arena_printf(g->a, "(%s *)(%s), %lld, %s, %lld, %s, %lld, %lld",
                          f->type, part_at(g, node),
                          (long long)sizeof(float) * stride_of(g, node)
                              / f->bytes,
                          part_at(g, n->in[0]), stride_of(g, n->in[0]),
                          some_rows(g, n), k,
                          (long long)dtype_stored(f->groups, k)),
             ";");
}

/* Returns the row and column arguments of a product whose function does not fix
 * them: "c->rows, from, to, ". */
static const char *product_part(Gen *g, const Node *n)
{
    const Length rows = rows_of_type(g, n->type);
    if (!g->undivided && g->serial)
        return arena_printf(g->a, "rows, 0, %lld, ",
                            (long long)round16(n->type.dim[1].c));
    if (!g->undivided)
        return "c->rows, from, to, ";
    if (has_fixed_product(g, n))
        return "";
    return arena_printf(g->a, "%s, 0, %lld, ", length_c(g, rows),
                        (long long)round16(n->type.dim[1].c));
}

void emit_product(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Epilogue ep = epilogue_of(g->p, node);
    if (n->nin > InRoutes) {
        emit_by_experts(g, e, node);
        return;
    }
    const char *args = arena_printf(g->a, "%s%s%s, %s", amx_argument(g, node),
                                    product_part(g, n),
                                    rows_at(g, n->in[0], block_at(g, n->in[0])),
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

/* Returns the name of the kernel for rows, e.g. "add_rows" or
 * "activate_rows_relu". */
static const char *rows_kernel(Gen *g, const Node *n, const OpCode *code)
{
    return code->by_activation
             ? arena_printf(g->a, "%s_%s", code->rows, act_text[n->act].plain)
             : code->rows;
}

void emit_rows(Gen *g, Emit *e, int node, const OpCode *code)
{
    const Node *n = node_at(g->p, node);
    const char *args = arena_printf(g->a, "%s, %lld, ", part_at(g, node),
                                    stride_of(g, node));
    for (int k = 0; k < code->inputs; k++)
        args = arena_printf(g->a, "%s%s, %lld, ", args, part_at(g, n->in[k]),
                            stride_of(g, n->in[k]));
    args = arena_printf(g->a, "%s%s%s, %lld%s", args,
                        vectors(g, n, code->inputs, n->nin), some_rows(g, n),
                        (long long)n->type.dim[1].c, last_number(g, n, code));
    put_call(e, use_kernel(g->kernels, rows_kernel(g, n, code)), args, ";");
}

void emit_scale_columns(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const bool one = node_at(g->p, n->in[1])->type.dim[0].c == 1;
    const char *by = weight_of(g, n->in[1], PackVector);
    const char *rows = arena_printf(g->a, "%s, %lld, %s, %lld",
                                    part_at(g, node), stride_of(g, node),
                                    part_at(g, n->in[0]),
                                    stride_of(g, n->in[0]));
    const long long d = n->type.dim[1].c;
    put_call(e, use_kernel(g->kernels, one ? "scale_rows" : "scale_columns"),
             one ? arena_printf(g->a, "%s, %s, %lld, *(%s)", rows,
                                some_rows(g, n), d, by)
                 : arena_printf(g->a, "%s, %s, %s, %lld", rows, by,
                                some_rows(g, n), d),
             ";");
}

/* Emits Norm or AddNorm as layer norm (with or without beta) or RMS norm. */
static void norm_of(Gen *g, Emit *e, int node, int rows_in)
{
    const Node *n = node_at(g->p, node);
    const bool rms = n->norm == NormRms;
    const char *beta = !rms && n->nin == rows_in + 1 ? "0, " : "";
    const char *args = arena_printf(g->a, "%s, %lld, ", part_at(g, node),
                                    stride_of(g, node));
    for (int k = 0; k < rows_in; k++)
        args = arena_printf(g->a, "%s%s, %lld, ", args, part_at(g, n->in[k]),
                            stride_of(g, n->in[k]));
    args = arena_printf(g->a, "%s%s%s%s, %lld, %s", args,
                        vectors(g, n, rows_in, n->nin), beta, some_rows(g, n),
                        (long long)n->type.dim[1].c, c_float(g->a, n->eps));
    const char *kernel = arena_printf(g->a, "%s%snorm_rows",
                                      rows_in == 2 ? "add_" : "",
                                      rms ? "rms_" : "");
    put_call(e, use_kernel(g->kernels, kernel), args, ";");
}

void emit_join(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t heads[] = { n->heads, n->heads_kv };
    const long long head = n->type.dim[1].c / n->heads;
    long long column = 0;
    for (int k = 0; k < 2; k++) {
        const long long d = node_at(g->p, n->in[k])->type.dim[1].c / heads[k];
        put_call(e, use_kernel(g->kernels, "copy_heads"),
                 arena_printf(g->a,
                              "%s + %lld, %lld, %lld, %s, %lld, %lld, %s, "
                              "%lld, %lld",
                              part_at(g, node), column, stride_of(g, node),
                              head, part_at(g, n->in[k]),
                              stride_of(g, n->in[k]),
                              heads[k] == n->heads ? d : 0, some_rows(g, n),
                              (long long)n->heads, d),
                 ";");
        column += d;
    }
}

void emit_head_norm(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int64_t d = n->type.dim[1].c / n->heads;
    const bool each = node_at(g->p, n->in[1])->parts > 0;
    put_call(e, use_kernel(g->kernels, "head_norm_rows"),
             arena_printf(g->a,
                          "%s, %lld, %s, %lld, %s%s%lld, %s, %lld, %lld, %s, "
                          "%d",
                          part_at(g, node), stride_of(g, node),
                          part_at(g, n->in[0]), stride_of(g, n->in[0]),
                          vectors(g, n, 1, n->nin), n->nin == 2 ? "0, " : "",
                          (long long)(each ? round16(d) : 0), some_rows(g, n),
                          (long long)n->heads, (long long)d,
                          c_float(g->a, n->eps), n->norm == NormRms),
             ";");
}

void emit_norm(Gen *g, Emit *e, int node)
{
    norm_of(g, e, node, 1);
}

void emit_add_norm(Gen *g, Emit *e, int node)
{
    norm_of(g, e, node, 2);
}

void emit_output(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const long long columns = n->type.dim[1].c;
    const char *row = g->undivided ? ""
                                   : arena_printf(g->a,
                                                  g->serial ? " + row * %lld"
                                                            : " + i * %lld",
                                                  columns);
    g->uses.row = true;
    put_call(e, use_kernel(g->kernels, "copy_rows"),
             arena_printf(g->a, "c->b->output%s, %lld, %s, %lld, %s, %lld", row,
                          columns, part_at(g, n->in[0]), stride_of(g, n->in[0]),
                          some_rows(g, n), columns),
             ";");
}
