/* plain_calls.c: emits the plain C of each op as calls of functions of
 * kernels/plain.c. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <string.h>

/* Emits a call. All its arguments are found by name in `arguments`. */
void plain_piece(Plain *p, Emit *e, int node, const char *piece)
{
    const char *args = "";
    const char *name = use_kernel(p->g.kernels, piece);
    const ParameterNames names = kernel_parameters(p->g.kernels, piece);
    for (int i = 0; i < names.n; i++)
        args = arena_printf(p->g.a, "%s%s%s", args, i ? ", " : "",
                            plain_argument(p, node, names.at[i]));
    put_call(e, name, args, ";");
}

/* Like plain_piece(), with `result` as the destination. */
static void piece_to(Plain *p, Emit *e, int node, const char *piece,
                     const char *result)
{
    const char *before = p->result;
    p->result = result;
    plain_piece(p, e, node, piece);
    p->result = before;
}

static void put_copy(Plain *p, Emit *e, const char *y, const char *x,
                     const char *n)
{
    if (strcmp(y, x))
        put_call(e, use_kernel(p->g.kernels, "copy"),
                 arena_printf(p->g.a, "%s, %s, %s", y, x, n), ";");
}

/* ---- activations ---- */

/* Emits x = act(x) for n numbers. */
static void put_activation(Plain *p, Emit *e, Activation act, const char *x,
                           const char *n)
{
    put_call(e,
             use_kernel(p->g.kernels,
                        arena_printf(p->g.a, "%s_rows", act_text[act].plain)),
             arena_printf(p->g.a, "%s, %s", x, n), ";");
}

static void plain_activate(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = plain_value(p, node);
    put_copy(p, e, y, plain_value(p, n->in[0]), plain_argument(p, node, "n"));
    put_activation(p, e, n->act, y, plain_argument(p, node, "n"));
}

/* Emits act(a) * b. The result replaces a, which is not read again. */
static void plain_gate(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const Activation other = act_text[n->act].other;
    put_activation(p, e, n->act, plain_value(p, n->in[0]),
                   plain_argument(p, node, "n"));
    if (other)
        put_activation(p, e, other, plain_value(p, n->in[1]),
                       plain_argument(p, node, "n"));
    plain_piece(p, e, node, "mul");
}

/* ---- products ---- */

static const char *suffix(Plain *p, Dtype d, Arithmetic a)
{
    static const char *const arithmetic[] = {
        [ArithmeticF32] = "",
        [ArithmeticInt8] = "_int8",
        [ArithmeticInt15] = "_int15",
    };
    if (dtype_shared(d))
        d = DtypeInt4; /* any format whose weights share steps */
    return arena_printf(p->g.a, "%s%s%s", d == DtypeF32 ? "" : "_",
                        d == DtypeF32 ? "" : dtype_word[d], arithmetic[a]);
}

static void one_product(Plain *p, Emit *e, int node, const char *y)
{
    const Node *n = node_at(p->g.p, node);
    const Dtype d = dtype_of(plain_input_type(p, node, 1));
    const Arithmetic a = n->op == OpRecurrent
                           ? ArithmeticF32
                           : elem_arithmetic(plain_input_type(p, node, 0).elem);
    if (n->has_bias && d == DtypeF32) {
        piece_to(p, e, node, "linear", y);
        return;
    }
    piece_to(p, e, node, arena_printf(p->g.a, "matmul%s", suffix(p, d, a)), y);
    if (!n->has_bias)
        return;
    const long long columns = plain_columns(n);
    const char *at = plain_of_choice(p, y, columns);
    put_call(e, use_kernel(p->g.kernels, "add_bias"),
             arena_printf(p->g.a, "%s, %s, %s, %s, %lld", at, at,
                          plain_argument(p, node, "bias"),
                          plain_argument(p, node, "rows"), columns),
             ";");
}

/* Emits a loop over the selected experts, each of which multiplies the row by
 * its weights. */
static void by_experts(Plain *p, Emit *e, int node, const char *y)
{
    const Node *n = node_at(p->g.p, node);
    let(e, "choices", "%s", plain_rows(p, n->type));
    let(e, "ids", "%s", plain_value(p, n->in[InRoutes]));
    put(e, "for (int c = 0; c < $choices; c++) {\n"
           "    const int e = $ids[c];\n"
           "\n");
    p->one_choice = true;
    one_product(p, e, node, y);
    p->one_choice = false;
    put(e, "}\n");
}

/* Emits x W^T + b, the activation, and the addition of the residual. */
static void plain_product(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = plain_value(p, node), *sum = y;
    if (n->has_residual)
        sum = plain_sum(p, node);
    if (n->nin > InRoutes)
        by_experts(p, e, node, sum);
    else
        one_product(p, e, node, sum);
    if (n->op == OpLinear && n->act != ActNone)
        put_activation(p, e, n->act, sum, plain_argument(p, node, "n"));
    if (!n->has_residual)
        return;
    const char *residual = plain_value(p, n->in[3]);
    put_call(e, use_kernel(p->g.kernels, "add"),
             arena_printf(p->g.a, "%s, %s, %s, %s", y, residual, sum,
                          plain_argument(p, node, "n")),
             ";");
}

static void plain_quantize(Plain *p, Emit *e, int node)
{
    const Arithmetic a = elem_arithmetic(node_at(p->g.p, node)->type.elem);
    plain_piece(p, e, node,
                a == ArithmeticInt15 ? "quantize_int15" : "quantize_int8");
}

/* ---- rows ---- */

static void plain_embed(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = plain_value(p, node);
    plain_piece(p, e, node,
                arena_printf(p->g.a, "embed%s",
                             suffix(p, dtype_of(plain_input_type(p, node, 0)),
                                    ArithmeticF32)));
    const char *by = plain_float(p->g.a, n->scale);
    if (n->nin > 2 && n->in[2] >= 0)
        put_call(e, use_kernel(p->g.kernels, "scale_add"),
                 arena_printf(p->g.a, "%s, %s, %s, %s, %s", y, y,
                              plain_table_row(p, node, n->in[2]),
                              plain_argument(p, node, "n"), by),
                 ";");
    else if (n->scale < 1 || n->scale > 1)
        put_call(e, use_kernel(p->g.kernels, "scale"),
                 arena_printf(p->g.a, "%s, %s, %s, %s", y, y,
                              plain_argument(p, node, "n"), by),
                 ";");
}

static void plain_position(Plain *p, Emit *e, int node)
{
    put_copy(p, e, plain_value(p, node),
             plain_table_row(p, node, node_at(p->g.p, node)->in[0]),
             plain_argument(p, node, "n"));
}

static void plain_scale_columns(Plain *p, Emit *e, int node)
{
    if (plain_input_type(p, node, 1).dim[0].c > 1)
        plain_piece(p, e, node, "scale_columns");
    else
        put_call(e, use_kernel(p->g.kernels, "scale"),
                 arena_printf(p->g.a, "%s, %s, %s, *%s",
                              plain_argument(p, node, "y"),
                              plain_argument(p, node, "x"),
                              plain_argument(p, node, "n"),
                              plain_argument(p, node, "gamma")),
                 ";");
}

/* Emits a norm, Add & Norm, or the norm of each head's columns. */
static void plain_norm(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *norm = n->norm == NormRms ? "rms_norm" : "layer_norm";
    if (n->op != OpAddNorm) {
        plain_piece(p, e, node, norm);
        return;
    }
    plain_piece(p, e, node, "add");
    const char *args = arena_printf(p->g.a, "%s, %s, %s, ",
                                    plain_value(p, node), plain_value(p, node),
                                    plain_argument(p, node, "gamma"));
    if (n->norm != NormRms)
        args = arena_printf(p->g.a, "%s%s, ", args,
                            plain_argument(p, node, "beta"));
    put_call(e, use_kernel(p->g.kernels, norm),
             arena_printf(p->g.a, "%s%s, %lld, %s", args,
                          plain_argument(p, node, "rows"),
                          (long long)plain_columns(n),
                          plain_float(p->g.a, n->eps)),
             ";");
}

static void plain_rotate(Plain *p, Emit *e, int node)
{
    plain_piece(p, e, node,
                node_at(p->g.p, node)->layout == LayoutHalves ? "rotate_halves"
                                                              : "rotate_pairs");
}

/* Emits the copy of new rows to the cache, unless they were computed there. */
static void plain_append(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    if (!plain_made_in_cache(p, plain_owner(p, n->in[0])))
        put_copy(p, e, plain_kept_rows(p, node), plain_value(p, n->in[0]),
                 plain_count(p, plain_input_type(p, node, 0),
                             plain_columns(n)));
}

/* Emits a copy of the last or first row. */
static void put_call_row(Plain *p, Emit *e, int node, bool last)
{
    const Node *n = node_at(p->g.p, node);
    const long long d = plain_columns(n);
    const char *x = plain_value(p, n->in[0]);
    if (last && (n->entry == EntryEncode || p->decode_rows > 1)) {
        p->uses.rows = true;
        x = arena_printf(p->g.a, "%s + (rows - 1) * %lld", x, d);
    }
    put_copy(p, e, plain_value(p, node), x,
             arena_printf(p->g.a, "%lld", (long long)d));
}

static void plain_select(Plain *p, Emit *e, int node)
{
    put_call_row(p, e, node, true);
}

static void plain_pool(Plain *p, Emit *e, int node)
{
    const PoolType pool = node_at(p->g.p, node)->pool;
    if (pool == PoolMean || pool == PoolMax)
        plain_piece(p, e, node, pool == PoolMean ? "pool_mean" : "pool_max");
    else
        put_call_row(p, e, node, pool == PoolLast);
}

static void plain_choose(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    plain_piece(p, e, node,
                n->groups_chosen < n->groups ? "choose_of_groups" : "choose");
}

/* ---- what goes from row to row ---- */

/* Emits zeros as the state that precedes a decoder's first row. */
static void put_zeros_at_first(Plain *p, Emit *e, const char *at, int64_t n)
{
    p->uses.past = true;
    put(e, "if (past == 0)\n");
    put_call(e,
             arena_printf(p->g.a, "    %s",
                          use_kernel(p->g.kernels, "fill_zeros")),
             arena_printf(p->g.a, "%s, %lld", at, (long long)n), ";");
}

static void plain_taps(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const long long columns = plain_columns(node_at(p->g.p, n->in[0]));
    if (n->state)
        put_zeros_at_first(p, e, plain_argument(p, node, "before"), n->state);
    plain_piece(p, e, node, n->op == OpTaps ? "taps" : "depthwise");
    if (n->state)
        put_call(e, use_kernel(p->g.kernels, "keep_rows"),
                 arena_printf(p->g.a, "%s, %s, %s, %lld, %lld",
                              plain_argument(p, node, "before"),
                              plain_argument(p, node, "x"),
                              plain_rows(p, n->type),
                              (long long)n->state / columns, columns),
                 ";");
}

/* Returns C for the address of a node's last state. The cell of an LSTM follows
 * it. */
static const char *last_state(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const int64_t d = plain_columns(n) * (n->cell == CellLstm ? 2 : 1);
    return plain_left(p, node,
                      arena_printf(p->g.a, "%s_last", step_name(p->g.p, node)),
                      d, "the last state of each layer");
}

static void put_first_state(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const int64_t d = plain_columns(n) * (n->cell == CellLstm ? 2 : 1);
    if (n->sourced) {
        p->uses.past = true;
        put(e, "if (past == 0)\n");
        put_call(e,
                 arena_printf(p->g.a, "    %s",
                              use_kernel(p->g.kernels, "copy")),
                 arena_printf(p->g.a, "h, %s, %lld",
                              last_state(p, n->in[n->nin - 1]), (long long)d),
                 ";");
    } else if (n->entry == EntryDecode) {
        put_zeros_at_first(p, e, "h", d);
    } else {
        put_call(e, use_kernel(p->g.kernels, "fill_zeros"),
                 arena_printf(p->g.a, "h, %lld", (long long)d), ";");
    }
}

/* Emits the product of the last state with the recurrent weights, plus bias. */
static void put_state_product(Plain *p, Emit *e, int node, int64_t columns)
{
    const Node *n = node_at(p->g.p, node);
    const Dtype d = dtype_of(plain_input_type(p, node, 1));
    const int bias = n->nin - n->sourced > 2 ? n->in[2] : -1;
    const char *w = plain_argument(p, node, "w");
    if (dtype_shared(d))
        w = arena_printf(p->g.a, "%s, %s, %s", w,
                         plain_argument(p, node, "w_step"),
                         plain_argument(p, node, "w_offset"));
    if (dtype_is_integer(d))
        w = arena_printf(p->g.a, "%s, %s", w,
                         plain_argument(p, node, "w_scale"));
    if (dtype_shared(d))
        w = arena_printf(p->g.a, "%s, %s", w,
                         plain_argument(p, node, "shared"));
    put_call(e,
             use_kernel(p->g.kernels,
                        arena_printf(p->g.a, "matmul%s",
                                     suffix(p, d, ArithmeticF32))),
             arena_printf(p->g.a, "u, h, %s, 1, %lld, %lld", w,
                          (long long)plain_columns(n), (long long)columns),
             ";");
    if (bias >= 0)
        put_call(e, use_kernel(p->g.kernels, "add_bias"),
                 arena_printf(p->g.a, "u, u, %s, 1, %lld",
                              plain_weight(p, bias, ""), (long long)columns),
                 ";");
}

static void plain_recurrent(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const int64_t d = plain_columns(n), columns = cell_gates(n->cell) * d;
    const char *cell = n->cell == CellGru  ? "gru_cell"
                     : n->cell == CellLstm ? "lstm_cell"
                     : n->act == ActRelu   ? "relu_cell"
                                           : "tanh_cell";
    let(e, "h", "%s", last_state(p, node));
    let(e, "u", "s->%s",
        plain_member(p, "state_product", "float", 1, "1", columns, ""));
    let(e, "rows", "%s", plain_rows(p, n->type));
    let(e, "i", n->reversed ? "$rows - 1 - t" : "t");
    put(e, "{\n"
           "    float *h = $h, *u = $u;\n"
           "\n");
    put_first_state(p, e, node);
    put(e, n->reversed ? "for (int i = $rows - 1; i >= 0; i--) {\n"
                       : "for (int i = 0; i < $rows; i++) {\n");
    put_state_product(p, e, node, columns);
    put_call(e, use_kernel(p->g.kernels, cell),
             arena_printf(p->g.a, "h, %s + i * %lld, u, %lld",
                          plain_value(p, n->in[0]), (long long)columns,
                          (long long)d),
             ";");
    put_copy(p, e,
             arena_printf(p->g.a, "%s + i * %lld", plain_value(p, node),
                          (long long)d),
             "h", arena_printf(p->g.a, "%lld", (long long)d));
    put(e, "}\n"
           "}\n");
}

/* ---- ops ---- */

/* The words that the `plain` column of graph/ops.h uses. */
/* clang-format off */
#define NONE         { .piece = NULL }
#define PIECE(name)  { .piece = name }
#define CALLS(name)  { .call = plain_##name }

static const PlainOp plain_op[OpCount] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value,  \
           gate, code, plain, ...)                                             \
    [Op##id] = plain,
#include "graph/ops.h"
};
/* clang-format on */

bool plain_has(Op op)
{
    return plain_op[op].piece || plain_op[op].call;
}

/* Emits copies of columns of other values before they are first read. */
static void make_columns(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k] < 0)
            continue;
        const int in = plain_owner(p, n->in[k]);
        if (node_at(p->g.p, in)->op != OpSlice || p->made[in])
            continue;
        p->made[in] = true;
        make_columns(p, e, in);
        plain_piece(p, e, in, plain_op[OpSlice].piece);
    }
}

void plain_node(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const PlainOp *op = &plain_op[n->op];
    const int mark = emit_mark(e);
    if (n->op == OpScores || n->op == OpContext)
        die("%s: attention that is not fused has no plain C", n->name);
    make_columns(p, e, node);
    if (op->call)
        op->call(p, e, node);
    else if (op->piece)
        plain_piece(p, e, node, op->piece);
    emit_reset(e, mark);
}
