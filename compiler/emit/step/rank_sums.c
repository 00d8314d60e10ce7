/* rank_sums.c: emits products whose rows are divided among ranks
 * (plan/rank_columns.c), and what quantises rows of integers. Both have a first
 * and a last half, between which the ranks exchange numbers:
 *
 *     quantize    the largest |x| of own columns | maximum | quantise by it
 *     product     sums of own columns            | sum     | floats, epilogue
 *
 * The scale of a row is that of the entire row, and sums of integers are exact,
 * so the bits are those of one process. Those of floats depend on the ranks. */
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/step.h"
#include "emit/product/products.h"

static long long row_bytes(const Gen *g, int rows)
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
                              part_at(g, node), row_bytes(g, node), x,
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
                              row_bytes(g, node), x),
                 ";");
}

/* Emits `at`, the number of groups of numbers before this rank's columns of a
 * row of integers, and k, the columns of all groups that have some of its own.
 * The others' numbers in these groups add 0. */
static void put_groups(Emit *e, long long group, long long stored)
{
    let(e, "group", "%lld", group);
    let(e, "more", "%lld", group - 1);
    let(e, "stored", "%lld", stored);
    put(e,
        "const int64_t at = first / $group;\n"
        "const int64_t end = min((past + $more) / $group * $group, $stored);\n"
        "const int64_t k = end - at * $group;\n"
        "\n");
}

/* Emits the sums of the columns `from` to `to` - 1 of y by this rank's columns
 * of x. Both planes of a row of int15 are rows of their own. */
static void sum_own(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node), *x = node_at(g->p, n->in[0]);
    const Dtype d = dtype_of(node_at(g->p, n->in[1])->type);
    const RowFormat *f = &row_formats[elem_arithmetic(x->type.elem)];
    const bool ints = dtype_is_integer(d);
    const long long group = ints ? dtype_stored(d, 1) : 1;
    const long long line = (long long)((int)ATTN_PANEL * dtype_number_bytes(d)
                                       * (double)group / element_bytes(d));
    put_terms(g, e, node, "first", "past");
    if (ints) {
        need_min(g);
        put_groups(e, group, rank_plane(g, n->in[0]));
    }
    const char *at = ints ? arena_printf(g->a, "at * %lld", group) : "first";
    const char *rows = f->kernel ? arena_printf(g->a, "(const %s *)(%s)",
                                                f->type, block_at(g, n->in[0]))
                                 : block_at(g, n->in[0]);
    put_call(e, need_matmul(g, node),
             arena_printf(g->a,
                          "%s%sc->rows, from, to, %s, %s + %s, %lld, %s + %s * "
                          "%lld, %s, %lld",
                          amx_argument(g, node), f->planes == 2 ? "2 * " : "",
                          ints ? "k" : "past - first", rows, at,
                          row_bytes(g, n->in[0]) / f->bytes / f->planes,
                          weight_of(g, n->in[1], PackPanels),
                          ints ? "at" : "first", line, block_at(g, node),
                          stride_of(g, node) / f->planes),
             ";");
}

/* Emits what makes floats of a part of the rows, adds the bias and, unless r is
 * "0, 0", the residual. */
static void finish_integers(Gen *g, Emit *e, int node, const char *bias,
                            const char *r)
{
    const Node *n = node_at(g->p, node);
    const Type w = node_at(g->p, n->in[1])->type;
    const long long all = ATTN_PANEL
                        * dtype_column_bytes(dtype_of(w), matrix_columns(w));
    put_call(e, use_kernel(g->kernels, "finish_sums"),
             arena_printf(
                 g->a,
                 "%s, %lld, %lld, (const uint8_t *)(%s) + %lld, %lld, "
                 "rows, %lld, (const uint8_t *)(%s) + %lld, %lld, %s, "
                 "%s",
                 part_at(g, node), stride_of(g, node),
                 (long long)rank_low_sums(g, node), part_at(g, n->in[0]),
                 (long long)rank_unit_place(g, n->in[0]),
                 row_bytes(g, n->in[0]), (long long)round16(n->type.dim[1].c),
                 weight_of(g, n->in[1], PackPanels), all - 128, all, bias, r),
             ";");
}

/* Emits the epilogue of a part of the rows. */
static void finish_own(Gen *g, Emit *e, int node)
{
    const Node *n = node_at(g->p, node);
    const Epilogue ep = epilogue_of(g->p, node);
    const bool act = ep.parts & EpAct, add = ep.parts & EpResidual;
    const bool ints = dtype_is_integer(ep.dtype);
    const char *y = arena_printf(g->a, "%s, %lld", part_at(g, node),
                                 stride_of(g, node));
    const char *r = !add ? "0, 0"
                         : arena_printf(g->a, "%s, %lld", part_at(g, n->in[3]),
                                        stride_of(g, n->in[3]));
    const long long columns = n->type.dim[1].c;
    const char *bias = ep.parts & EpBias ? weight_of(g, n->in[2], PackVector)
                                         : "0";
    if (ints)
        finish_integers(g, e, node, bias, act ? "0, 0" : r);
    else if (ep.parts & EpBias)
        put_call(e, use_kernel(g->kernels, "bias_rows"),
                 arena_printf(g->a, "%s, %s, %s, rows, %lld", y, y, bias,
                              columns),
                 ";");
    if (act)
        put_call(e,
                 use_kernel(g->kernels, arena_printf(g->a, "activate_rows_%s",
                                                     act_text[n->act].plain)),
                 arena_printf(g->a, "%s, %s, rows, %lld", y, y, columns), ";");
    if (add && (act || !ints))
        put_call(e, use_kernel(g->kernels, "add_rows"),
                 arena_printf(g->a, "%s, %s, %s, rows, %lld", y, y, r, columns),
                 ";");
}

bool has_rank_finish(const Gen *g, int node)
{
    const Node *n = node_at(g->p, node);
    const Epilogue ep = is_product(n) ? epilogue_of(g->p, node)
                                      : (Epilogue){ .dtype = DtypeInt8 };
    return dtype_is_integer(ep.dtype) || ep.parts;
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
