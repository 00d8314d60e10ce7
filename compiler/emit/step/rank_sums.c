/* rank_sums.c: emits integer products whose rows are divided among ranks
 * (plan/rank_columns.c), and what quantises these rows. Both have a first and a
 * last half, between which the ranks exchange numbers:
 *
 *     quantize    the largest |x| of own columns | maximum | quantise by it
 *     product     integer sums of own columns    | sum     | floats, epilogue
 *
 * The scale of a row is that of the entire row, and sums of integers are exact,
 * so the bits are those of one process. */
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/step.h"

static long long integer_row(const Gen *g, int rows)
{
    return (long long)sizeof(float) * stride_of(g, rows);
}

/* Emits `from` and `to`, between which this rank's columns of rows are. */
static void put_terms(Gen *g, Emit *e, int node, const char *from,
                      const char *to)
{
    const HeadColumns *c = rank_terms(g->p, g->p->rank_columns, node);
    need_rank_begin(g);
    let(e, "from", "%s", from);
    let(e, "to", "%s", to);
    let(e, "heads", "%lld", (long long)c->heads);
    let(e, "unit", "%lld", (long long)share_unit(g, c));
    let(e, "width", "%lld", (long long)c->width);
    put(e,
        "const int64_t $from = rank_begin(c->b, $heads, $unit, 0) * $width;\n"
        "const int64_t $to = rank_begin(c->b, $heads, $unit, 1) * $width;\n"
        "\n");
}

static void quantize_own(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const int two = rank_has_two(g, node);
    const char *x = arena_printf(g->a, "%s, %lld", part_at(g, n->in[0]),
                                 stride_of(g, n->in[0]));
    put_terms(g, e, node, "from", "to");
    if (g->finish)
        put_call(e, use_kernel(g->kernels, "quantize_own"),
                 arena_printf(g->a,
                              "(uint8_t *)(%s), %lld, %s, rows, from, to, "
                              "%lld, %lld, %d",
                              part_at(g, node), integer_row(g, node), x,
                              (long long)n->type.dim[1].c,
                              (long long)rank_plane(g, node), two),
                 ";");
    else
        put_call(e, use_kernel(g->kernels, "peak_rows"),
                 arena_printf(g->a,
                              "(uint8_t *)(%s) + %lld, %lld, %s, rows, from, "
                              "to",
                              part_at(g, node),
                              (long long)rank_unit_place(g, node),
                              integer_row(g, node), x),
                 ";");
}

/* Emits the sums of the columns `from` to `to` - 1 of y. A rank multiplies
 * complete groups of numbers around its own; the others are 0. */
static void sum_own(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Type w = node_at(g->p, n->in[1])->type;
    const Dtype d = dtype_of(w);
    const int64_t k = matrix_columns(w);
    const char *kernel = arena_printf(g->a, "sum_%s", dtype_word[d]);
    const int64_t group = dtype_shared(d) ? 2 * dtype_shared(d) : 64;
    put_terms(g, e, node, "first", "past");
    let(e, "group", "%lld", (long long)group);
    let(e, "more", "%lld", (long long)group - 1);
    let(e, "stored", "%lld", (long long)rank_plane(g, n->in[0]));
    let(e, "x", "%s", block_at(g, n->in[0]));
    let(e, "ldx", "%lld", integer_row(g, n->in[0]));
    let(e, "w", "%s", weight_of(g, n->in[1], PackPanels));
    let(e, "ldw", "%lld", (long long)(ATTN_PANEL * dtype_column_bytes(d, k)));
    need_min(g);
    put(e, "const struct sum_operands of = {\n"
           "    .x = (const uint8_t *)($x),\n"
           "    .ldx = $ldx,\n"
           "    .rows = c->rows,\n"
           "    .w = (const uint8_t *)($w),\n"
           "    .ldw = $ldw,\n"
           "    .k = first / $group * $group,\n"
           "    .end = min((past + $more) / $group * $group, $stored),\n"
           "    .stored = $stored,\n"
           "};\n\n");
    put_call(e, use_kernel(g->kernels, kernel),
             arena_printf(g->a, "%s, %lld, %lld, from, to, &of",
                          block_at(g, node), stride_of(g, node),
                          (long long)rank_low_sums(g, node)),
             ";");
}

/* Emits the floats of a part of the rows, and the rest of the epilogue. */
static void finish_own(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Epilogue ep = epilogue_of(g->p, node);
    const Type w = node_at(g->p, n->in[1])->type;
    const Dtype d = dtype_of(w);
    const int64_t k = matrix_columns(w);
    const int64_t all = ATTN_PANEL * dtype_column_bytes(d, k);
    const bool act = ep.parts & EpAct, add = ep.parts & EpResidual;
    const char *y = arena_printf(g->a, "%s, %lld", part_at(g, node),
                                 stride_of(g, node));
    const char *r = !add ? "0, 0"
                         : arena_printf(g->a, "%s, %lld", part_at(g, n->in[3]),
                                        stride_of(g, n->in[3]));
    const long long columns = n->type.dim[1].c;
    put_call(e, use_kernel(g->kernels, "finish_sums"),
             arena_printf(g->a,
                          "%s, %lld, (const uint8_t *)(%s) + %lld, %lld, rows, "
                          "%lld, (const uint8_t *)(%s) + %lld, %lld, %s, %s",
                          y, (long long)rank_low_sums(g, node),
                          part_at(g, n->in[0]),
                          (long long)rank_unit_place(g, n->in[0]),
                          integer_row(g, n->in[0]), (long long)round16(columns),
                          weight_of(g, n->in[1], PackPanels),
                          (long long)all - 128, (long long)all,
                          ep.parts & EpBias ? weight_of(g, n->in[2], PackVector)
                                            : "0",
                          act ? "0, 0" : r),
             ";");
    if (act)
        put_call(e,
                 use_kernel(g->kernels, arena_printf(g->a, "activate_rows_%s",
                                                     act_text[n->act].plain)),
                 arena_printf(g->a, "%s, %s, rows, %lld", y, y, columns), ";");
    if (act && add)
        put_call(e, use_kernel(g->kernels, "add_rows"),
                 arena_printf(g->a, "%s, %s, %s, rows, %lld", y, y, r, columns),
                 ";");
}

void emit_rank_sums(Gen *g, Emit *e, int node)
{
    if (!is_product(node_at(g->p, node)))
        quantize_own(g, e, node);
    else if (g->finish)
        finish_own(g, e, node);
    else
        sum_own(g, e, node);
}
