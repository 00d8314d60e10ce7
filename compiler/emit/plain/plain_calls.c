/* plain_calls.c: emits the plain C for each op as calls of functions in
 * kernels/plain.c. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <string.h>

/* Emits a call of a function in kernels/plain.c. `call` is the function's name,
 * then pairs of the name and text of each argument that plain_argument() does
 * not determine, then NULL. */
static void plain_call_of(Plain *p, Emit *e, int node, const char *indent,
                          const char *const *call)
{
    const ParameterNames names = kernel_parameters(p->g.kernels, call[0]);
    const char *list = "";
    for (int i = 0; i < names.n; i++) {
        const char *const *given = call + 1;
        while (*given && strcmp(*given, names.at[i]))
            given += 2;
        list = arena_printf(p->g.a, "%s%s%s", list, i ? ", " : "",
                            *given ? given[1]
                                   : plain_argument(p, node, names.at[i]));
    }
    put_call(e,
             arena_printf(p->g.a, "%s%s", indent,
                          use_kernel(p->g.kernels, call[0])),
             list, ";");
}

#define PLAIN_CALL(p, e, node, ...)                                            \
    plain_call_of(p, e, node, "", (const char *const[]){ __VA_ARGS__, NULL })

static void put_copy(Plain *p, Emit *e, int node, const char *y, const char *x,
                     const char *n)
{
    if (strcmp(y, x))
        PLAIN_CALL(p, e, node, "copy", "y", y, "x", x, "n", n);
}

/* Returns C for the address of row i of a value, in a loop over i. */
static const char *row_i(Plain *p, const char *at, int64_t columns)
{
    return arena_printf(p->g.a, "%s + i * %lld", at, (long long)columns);
}

/* ---- activations ---- */

/* Emits x = act(x) for a node's value. */
static void put_activation(Plain *p, Emit *e, int node, Activation act,
                           const char *x)
{
    PLAIN_CALL(p, e, node, arena_printf(p->g.a, "%s_rows", act_text[act].plain),
               "x", x);
}

static void plain_activate(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = plain_value(p, node);
    put_copy(p, e, node, y, plain_value(p, n->in[0]),
             plain_argument(p, node, "n"));
    put_activation(p, e, node, n->act, y);
}

/* Emits act(a) * b. The result replaces a, which is not read again. */
static void plain_gate(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const Activation other = act_text[n->act].other;
    put_activation(p, e, node, n->act, plain_value(p, n->in[0]));
    if (other)
        put_activation(p, e, node, other, plain_value(p, n->in[1]));
    PLAIN_CALL(p, e, node, "mul");
}

/* ---- products ---- */

/* Returns the name of the look-up or product for weights in this format. */
static const char *of_format(Plain *p, const char *base, Dtype d, Arithmetic a)
{
    static const char *const arithmetic[] = {
        [ArithmeticF32] = "",         [ArithmeticInt8] = "_int8",
        [ArithmeticInt15] = "_int15", [ArithmeticBf16Dp] = "_dp",
        [ArithmeticBf16Amx] = "_amx", [ArithmeticBf16x3] = "_x3",
    };
    if (dtype_shared(d))
        d = DtypeInt4; /* any format whose weights share steps */
    return arena_printf(p->g.a, "%s%s%s%s", base, d == DtypeF32 ? "" : "_",
                        d == DtypeF32 ? "" : dtype_word[d], arithmetic[a]);
}

static void one_product(Plain *p, Emit *e, int node, const char *to)
{
    const Node *n = node_at(p->g.p, node);
    const Dtype d = dtype_of(plain_input_type(p, node, 1));
    const Arithmetic a = elem_arithmetic(plain_input_type(p, node, 0).elem);
    const bool linear = n->has_bias && d == DtypeF32;
    const char *y = plain_of_choice(p, to, plain_columns(n));
    PLAIN_CALL(p, e, node, linear ? "linear" : of_format(p, "matmul", d, a),
               "y", y);
    if (n->has_bias && !linear)
        PLAIN_CALL(p, e, node, "add_bias", "y", y, "x", y);
}

/* Emits a loop over the row's experts, each of which multiplies the row by its
 * weights. */
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
    const char *y = plain_value(p, node);
    const char *sum = n->has_residual ? plain_sum(p, node) : y;
    if (n->nin > InRoutes)
        by_experts(p, e, node, sum);
    else
        one_product(p, e, node, sum);
    if (n->op == OpLinear && n->act != ActNone)
        put_activation(p, e, node, n->act, sum);
    if (n->has_residual)
        PLAIN_CALL(p, e, node, "add", "a", plain_value(p, n->in[3]), "b", sum);
}

static void plain_quantize(Plain *p, Emit *e, int node)
{
    const Arithmetic a = elem_arithmetic(node_at(p->g.p, node)->type.elem);
    static const char *const kernel[] = {
        [ArithmeticInt8] = "quantize_int8",
        [ArithmeticInt15] = "quantize_int15",
        [ArithmeticBf16Dp] = "round_bf16",
        [ArithmeticBf16Amx] = "round_bf16",
        [ArithmeticBf16x3] = "split_bf16",
    };
    PLAIN_CALL(p, e, node, kernel[a]);
}

/* ---- rows ---- */

static void plain_embed(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = plain_value(p, node);
    PLAIN_CALL(p, e, node,
               of_format(p, "embed", dtype_of(plain_input_type(p, node, 0)),
                         ArithmeticF32));
    if (n->nin > 2 && n->in[2] >= 0)
        PLAIN_CALL(p, e, node, "scale_add", "x", y, "b",
                   plain_table_row(p, node, n->in[2]));
    else if (n->scale < 1 || n->scale > 1)
        PLAIN_CALL(p, e, node, "scale", "x", y);
}

static void plain_position(Plain *p, Emit *e, int node)
{
    put_copy(p, e, node, plain_value(p, node),
             plain_table_row(p, node, node_at(p->g.p, node)->in[0]),
             plain_argument(p, node, "n"));
}

static void plain_scale_columns(Plain *p, Emit *e, int node)
{
    if (plain_input_type(p, node, 1).dim[0].c > 1)
        PLAIN_CALL(p, e, node, "scale_columns");
    else
        PLAIN_CALL(p, e, node, "scale", "by",
                   arena_printf(p->g.a, "*%s",
                                plain_argument(p, node, "gamma")));
}

/* Emits a norm, Add & Norm, or the norm of each head's columns. */
static void plain_norm(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const bool adds = n->op == OpAddNorm;
    if (adds)
        PLAIN_CALL(p, e, node, "add");
    const bool each = n->op == OpHeadNorm && node_at(p->g.p, n->in[1])->parts;
    PLAIN_CALL(p, e, node,
               n->norm == NormRms ? each ? "rms_norms" : "rms_norm"
               : each             ? "layer_norms"
                                  : "layer_norm",
               "x", adds ? plain_value(p, node) : plain_argument(p, node, "x"));
}

static void plain_rotate(Plain *p, Emit *e, int node)
{
    PLAIN_CALL(p, e, node,
               node_at(p->g.p, node)->layout == LayoutHalves ? "rotate_halves"
                                                             : "rotate_pairs");
}

/* Emits the copy of new rows to the cache, unless they were computed there. */
static void plain_append(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    if (p->kept_by[plain_owner(p, n->in[0])] >= 0)
        return;
    const char *y = plain_kept_rows(p, node), *x = plain_value(p, n->in[0]);
    const char *count = plain_count(p, plain_input_type(p, node, 0),
                                    plain_columns(n));
    const CacheStore store = p->g.p->g->spec->cache_store;
    const long long heads = n->type.dim[0].c;
    if (store == StoreBf16)
        PLAIN_CALL(p, e, node, "append_bf16", "y", y, "x", x, "n", count);
    else if (store == StoreInt8)
        PLAIN_CALL(p, e, node, "append_int8", "y", y, "y_scale",
                   plain_kept_scales(p, node, true), "x", x, "rows",
                   plain_count(p, plain_input_type(p, node, 0), heads), "d",
                   plain_integer(p->g.a, n->type.dim[2].c));
    else
        put_copy(p, e, node, y, x, count);
}

/* Emits a copy of the last or first row. */
static void put_call_row(Plain *p, Emit *e, int node, bool last)
{
    const Node *n = node_at(p->g.p, node);
    const long long d = plain_columns(n);
    const char *x = plain_value(p, n->in[0]);
    if (last && (n->entry == EntryEncode || p->decode_rows > 1)) {
        p->g.uses.rows = true;
        x = arena_printf(p->g.a, "%s + (rows - 1) * %lld", x, d);
    }
    put_copy(p, e, node, plain_value(p, node), x, plain_argument(p, node, "d"));
}

static void plain_select(Plain *p, Emit *e, int node)
{
    put_call_row(p, e, node, true);
}

static void plain_pool(Plain *p, Emit *e, int node)
{
    const PoolType pool = node_at(p->g.p, node)->pool;
    if (pool == PoolClass || pool == PoolLast)
        put_call_row(p, e, node, pool == PoolLast);
    else
        PLAIN_CALL(p, e, node,
                   arena_printf(p->g.a, "pool_%s", pool_word[pool]));
}

static void plain_choose(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    PLAIN_CALL(p, e, node,
               n->groups_chosen < n->groups ? "choose_of_groups" : "choose");
}

/* ---- what goes from row to row ---- */

static void put_if_first(Plain *p, Emit *e)
{
    p->g.uses.past = true;
    put(e, "if (past == 0)\n");
}

/* Emits a call that a decoder makes only for the first row. */
#define CALL_AT_FIRST(p, e, node, ...)                                         \
    (put_if_first(p, e),                                                       \
     plain_call_of(p, e, node, "    ",                                         \
                   (const char *const[]){ __VA_ARGS__, NULL }))

static void plain_taps(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    Arena *a = p->g.a;
    const char *before = plain_argument(p, node, "before");
    if (n->state)
        CALL_AT_FIRST(p, e, node, "fill_zeros", "y", before, "n",
                      plain_integer(a, n->state));
    PLAIN_CALL(p, e, node, n->op == OpTaps ? "taps" : "depthwise");
    if (n->state)
        PLAIN_CALL(p, e, node, "keep_rows", "d",
                   plain_argument(p, node, "d_in"));
}

/* Returns the number of floats in a state. An LSTM's cell state follows it. */
static int64_t state_size(const Node *n)
{
    return plain_columns(n) * (n->cell == CellLstm ? 2 : 1);
}

/* Returns C for the address of a node's last state. */
static const char *last_state(Plain *p, int node)
{
    return plain_left(p, node,
                      arena_printf(p->g.a, "%s_last", step_name(p->g.p, node)),
                      state_size(node_at(p->g.p, node)),
                      "the last state of each layer");
}

static void put_first_state(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *size = plain_integer(p->g.a, state_size(n));
    if (n->sourced)
        CALL_AT_FIRST(p, e, node, "copy", "y", "h", "x",
                      last_state(p, n->in[n->nin - 1]), "n", size);
    else if (n->entry == EntryDecode)
        CALL_AT_FIRST(p, e, node, "fill_zeros", "y", "h", "n", size);
    else
        PLAIN_CALL(p, e, node, "fill_zeros", "y", "h", "n", size);
}

/* Emits the product of the last state and the recurrent weights, plus bias. */
static void put_state_product(Plain *p, Emit *e, int node, const char *columns)
{
    const Node *n = node_at(p->g.p, node);
    const Dtype d = dtype_of(plain_input_type(p, node, 1));
    PLAIN_CALL(p, e, node, of_format(p, "matmul", d, ArithmeticF32), "y", "u",
               "x", "h", "rows", "1", "d_in", plain_argument(p, node, "d"),
               "d_out", columns);
    if (n->nin - n->sourced > 2 && n->in[2] >= 0)
        PLAIN_CALL(p, e, node, "add_bias", "y", "u", "x", "u", "rows", "1", "d",
                   columns);
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
    put(e, "{\n"
           "    float *h = $h, *u = $u;\n"
           "\n");
    put_first_state(p, e, node);
    put(e, n->reversed ? "for (int i = $rows - 1; i >= 0; i--) {\n"
                       : "for (int i = 0; i < $rows; i++) {\n");
    put_state_product(p, e, node, plain_integer(p->g.a, columns));
    PLAIN_CALL(p, e, node, cell, "h", "h", "x",
               row_i(p, plain_value(p, n->in[0]), columns), "u", "u");
    put_copy(p, e, node, row_i(p, plain_value(p, node), d), "h",
             plain_integer(p->g.a, d));
    put(e, "}\n"
           "}\n");
}

/* ---- ops ---- */

/* Copies columns of other values before they are first read. */
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
        PLAIN_CALL(p, e, in, "columns");
    }
}

/* The words that the `plain` column of graph/ops.h uses. */
#define NONE        (void)0
#define PIECE(name) PLAIN_CALL(p, e, node, name)
#define CALLS(name) plain_##name(p, e, node)

void plain_node(Plain *p, Emit *e, int node)
{
    const Node *n = node_at(p->g.p, node);
    const int mark = emit_mark(e);
    if (n->op == OpScores || n->op == OpContext)
        die("%s: attention that is not fused has no plain C", n->name);
    make_columns(p, e, node);
    switch (n->op) {
        /* clang-format off */
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value,  \
           gate, code, plain, ...)                                             \
    case Op##id: plain; break;
#include "graph/ops.h"
        /* clang-format on */
    case OpNop:
    case OpCount: break;
    }
    emit_reset(e, mark);
}
