/* step_experts.c: emits the steps of a mixture of experts: the top-k selection,
 * the permutation of rows by expert, and products in which each row uses its
 * expert's weights. */
#include "emit/gen/c_names.h"
#include "emit/product/products.h"
#include "emit/gen/step.h"

void emit_choose(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const bool groups = n->groups_chosen < n->groups;
    const char *args = arena_printf(
        g->a, "%s, %lld, %s, %lld, %s, rows, %lld, %lld", part_at(g, node),
        stride_of(g, node), part_at(g, n->in[0]), stride_of(g, n->in[0]),
        n->nin > 1 ? weight_of(g, n->in[1], PackVector) : "0",
        (long long)matrix_columns(node_at(g->p, n->in[0])->type),
        (long long)n->type.dim[1].c);
    if (groups)
        args = arena_printf(g->a, "%s, %lld, %lld, %d", args,
                            (long long)n->groups, (long long)n->groups_chosen,
                            n->group_pairs);
    put_call(e,
             use_kernel(g->kernels,
                        groups ? "choose_of_groups" : "choose_rows"),
             args, ";");
}

void emit_weigh(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    put_call(e, use_kernel(g->kernels, "weigh_rows"),
             arena_printf(g->a,
                          "%s, %lld, %s, %lld, %s, %lld, rows, %lld, %s, %d, "
                          "%d",
                          part_at(g, node), stride_of(g, node),
                          part_at(g, n->in[0]), stride_of(g, n->in[0]),
                          part_at(g, n->in[1]), stride_of(g, n->in[1]),
                          (long long)n->type.dim[1].c, c_float(g->a, n->scale),
                          n->softmax, n->normalize),
             ";");
}

/* Returns C for the address of a row's entries in the permutation, which is
 * stored after the array with the end of each expert's rows. */
static const char *places_at(Gen *g, int routes, const char *row)
{
    const Node *n = node_at(g->p, routes);
    return arena_printf(g->a, "%s + %lld + %s * %lld", first_at(g, routes),
                        (long long)round16(n->experts), row,
                        (long long)n->type.dim[1].c);
}

/* Emits the permutation. A single thread computes it, because it is little
 * work. */
void emit_routes(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    let(e, "rows", "%s", row_count(row_sym(n->type)));
    put(e, "const struct attn_batch *b = c->b;\n"
           "\n");
    if (!g->serial)
        put(e, "(void)parts;\n"
               "if (part > 0)\n"
               "    return;\n");
    put_call(e, use_kernel(g->kernels, "sort_routes"),
             arena_printf(g->a, "%s, %s, %s, %lld, %s, %lld, %lld",
                          first_at(g, node), places_at(g, node, "0"),
                          first_at(g, n->in[0]), stride_of(g, n->in[0]),
                          row_count(row_sym(n->type)),
                          (long long)n->type.dim[1].c, (long long)n->experts),
             ";");
}

void emit_spread(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    if (!g->serial)
        need_part_begin(g);
    let(e, "rows", "%s", row_count(row_sym(n->type)));
    put(e, "const struct attn_batch *b = c->b;\n");
    put(e,
        g->serial
            ? "const int64_t i = 0, end = $rows;\n"
            : "const int64_t i = part_begin($rows, 1, part, parts);\n"
              "const int64_t end = part_begin($rows, 1, part + 1, parts);\n");
    put(e, "\n");
    put_call(e, use_kernel(g->kernels, "spread_rows"),
             arena_printf(g->a, "%s, %lld, %s, %lld, %s, end - i, %lld, %lld",
                          first_at(g, node), stride_of(g, node),
                          value_at(g, n->in[0], "i"), stride_of(g, n->in[0]),
                          places_at(g, n->in[1], "i"),
                          (long long)n->type.dim[0].times,
                          (long long)n->type.dim[1].c),
             ";");
}

void emit_combine(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    g->uses.row = true;
    put_call(e, use_kernel(g->kernels, "combine_rows"),
             arena_printf(g->a,
                          "%s, %lld, %s, %lld, %s, %lld, %s, rows, %lld, %lld",
                          part_at(g, node), stride_of(g, node),
                          first_at(g, n->in[0]), stride_of(g, n->in[0]),
                          part_at(g, n->in[1]), stride_of(g, n->in[1]),
                          places_at(g, n->in[2], g->serial ? "row" : "i"),
                          (long long)node_at(g->p, n->in[1])->type.dim[1].c,
                          (long long)n->type.dim[1].c),
             ";");
}

void emit_by_experts(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Type w = node_at(g->p, n->in[1])->type;
    let(e, "experts", "%lld", (long long)w.dim[0].c);
    let(e, "ends", "%s", first_at(g, n->in[InRoutes]));
    let(e, "count", "%s", use_kernel(g->kernels, "expert_rows"));
    let(e, "of", g->serial ? "row, rows" : "c->row, c->rows");
    g->uses.row |= g->serial;
    put(e, "for (int64_t e = 0; e < $experts; e++) {\n"
           "    int64_t at;\n"
           "    const int64_t n = $count($ends, e, $of, &at);\n"
           "\n"
           "    if (n > 0) {\n");
    const char *x = rows_at(g, n->in[0],
                            arena_printf(g->a, "%s + at * %lld",
                                         block_at(g, n->in[0]),
                                         stride_of(g, n->in[0])));
    const char *bias = "", *columns = "from, to";
    if (g->serial)
        columns = arena_printf(g->a, "0, %lld",
                               (long long)round16(n->type.dim[1].c));
    if (n->has_bias)
        bias = arena_printf(g->a, ", %s + e * %lld",
                            weight_of(g, n->in[2], PackVector),
                            (long long)round16(matrix_rows(w)));
    put_call(e, need_matmul(g, node),
             arena_printf(g->a,
                          "%sn, %s, %s, %s + e * %lld%s, %s + at * "
                          "%lld, %lld",
                          amx_argument(g, node), columns, x,
                          weight_of(g, n->in[1], PackPanels),
                          (long long)(round16(matrix_rows(w))
                                      * panel_column(dtype_of(w),
                                                     matrix_columns(w))),
                          bias, block_at(g, node), stride_of(g, node),
                          stride_of(g, node)),
             ";");
    put(e, "}\n"
           "}\n");
}
