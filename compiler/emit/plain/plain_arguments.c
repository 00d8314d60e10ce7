/* plain_arguments.c: finds the arguments for functions of kernels/plain.c. Each
 * row of the table `arguments` computes the argument for one parameter name. */
#include "emit/plain/plain.h"

#include "emit/gen/c_names.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

const char *plain_float(Arena *a, double x)
{
    const float f = (float)x;
    const char *text = NULL;
    for (int digits = 6; !text || strtof(text, NULL) != f; digits++)
        text = arena_printf(a, "%.*g", digits, (double)f);
    return arena_printf(a, strpbrk(text, ".e") ? "%sf" : "%s.0f", text);
}

/* True if a value always has one row. */
static bool has_one_row(const Plain *p, Type t)
{
    const Sym sym = row_sym(t);
    return sym == SymR || sym == SymS
        || (sym == SymT && p->decode_rows == 1 && row_times(t) == 1);
}

const char *plain_count(Plain *p, Type t, int64_t columns)
{
    return has_one_row(p, t)
             ? plain_integer(p->g.a, columns)
             : arena_printf(p->g.a, "%s * %lld", plain_rows(p, t),
                            (long long)columns);
}

/* ---- inputs ---- */

static const Node *input_of(const Plain *p, const Node *n, int k)
{
    return node_at(p->g.p, n->in[k]);
}

Type plain_input_type(const Plain *p, int node, int k)
{
    return input_of(p, node_at(p->g.p, node), k)->type;
}

/* Returns vector number `which` of the constants that a node reads, or -1 if it
 * reads fewer. */
static int vector_input(const Plain *p, int node, int which)
{
    const Node *n = node_at(p->g.p, node);
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] >= 0 && input_of(p, n, k)->entry == EntryNone
            && (input_of(p, n, k)->type.rank == 1 || input_of(p, n, k)->parts)
            && !(is_product(n) && k == 1) && which-- == 0)
            return n->in[k];
    return -1;
}

static int matrix_input(const Node *n)
{
    return n->in[n->op == OpEmbed || n->op == OpPosition ? 0 : 1];
}

const char *plain_of_choice(Plain *p, const char *at, int64_t columns)
{
    if (!p->one_choice)
        return at;
    return columns == 1
             ? arena_printf(p->g.a, "%s + c", at)
             : arena_printf(p->g.a, "%s + c * %lld", at, (long long)columns);
}

static const char *of_expert(Plain *p, const char *at, int64_t numbers)
{
    return p->one_choice ? arena_printf(p->g.a, "%s + (size_t)e * %lld", at,
                                        (long long)numbers)
                         : at;
}

/* ---- arguments ---- */

static int64_t d_tap(const Node *n)
{
    return plain_columns(n) / n->taps;
}

static const char *input_text(Plain *p, int node, int k)
{
    const int in = node_at(p->g.p, node)->in[k];
    return plain_of_choice(p, plain_value(p, in),
                           plain_columns(node_at(p->g.p, in)));
}

/* Returns the input x of a convolution, starting at the first row that is not
 * skipped. */
static const char *x_text(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *x = input_text(p, node, 0);
    return n->skipped ? arena_printf(p->g.a, "%s + %lld * %lld", x,
                                     (long long)n->skipped, (long long)d_tap(n))
                      : x;
}

static const char *scale_of(Plain *p, int node)
{
    return arena_printf(p->g.a, "%s_scale", plain_value(p, node));
}

/* Returns the weights of a matrix, or an array that belongs to its integers,
 * with `row` elements per row. */
static const char *matrix_part(Plain *p, int node, const char *part,
                               int64_t row)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t rows = matrix_rows(node_at(p->g.p, w)->type);
    return of_expert(p, plain_weight(p, w, part), rows * row);
}

/* Return, for 4-bit weights, the number of weights that share a step (0 for
 * other weights), and the number of these groups per row. */
static int64_t shared_by(const Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    return dtype_shared(dtype_of(node_at(p->g.p, w)->type));
}

static int64_t row_groups(const Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t shared = shared_by(p, node);
    return (matrix_columns(node_at(p->g.p, w)->type) + shared - 1) / shared;
}

static const char *w_text(Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t shared = shared_by(p, node);
    return matrix_part(p, node, "",
                       shared ? shared / 2 * row_groups(p, node)
                              : matrix_columns(node_at(p->g.p, w)->type));
}

static const char *vector_text(Plain *p, int node, int which)
{
    const int v = vector_input(p, node, which);
    return v < 0 ? "NULL" : plain_weight(p, v, "");
}

static const char *before_text(Plain *p, int node)
{
    const int64_t n = node_at(p->g.p, node)->state;
    const char *name = arena_printf(p->g.a, "%s_before",
                                    value_label(p->g.p, node));
    return n ? plain_left(p, node, name, n, "of each layer") : "NULL";
}

const char *plain_table_row(Plain *p, int node, int table)
{
    const Node *n = node_at(p->g.p, node);
    const long long d = node_at(p->g.p, table)->type.dim[1].c;
    const char *w = plain_weight(p, table, "");
    const bool encodes = n->entry == EntryEncode;
    if (encodes && n->first == 0)
        return w;
    const char *from = encodes  ? plain_integer(p->g.a, n->first)
                     : n->first ? arena_printf(p->g.a, "(%s + %lld)",
                                               plain_past(p, node),
                                               (long long)n->first)
                                : plain_past(p, node);
    return arena_printf(p->g.a, "%s + %s * %lld", w, from, d);
}

static const char *rows_text(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    if (p->one_choice)
        return "1";
    const char *rows = plain_rows(p, n->op == OpPool
                                         ? plain_input_type(p, node, 0)
                                     : n->op == OpSpread
                                         ? plain_input_type(p, node, 1)
                                         : n->type);
    return n->op == OpHeadNorm
             ? arena_printf(p->g.a, "%s * %lld", rows, (long long)n->heads)
             : rows;
}

static const char *rows_in_text(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *rows = plain_rows(p, plain_input_type(p, node, 0));
    if (n->frames > 1)
        rows = arena_printf(p->g.a, "%s * %lld", rows, (long long)n->frames);
    return n->skipped
             ? arena_printf(p->g.a, "%s - %lld", rows, (long long)n->skipped)
             : rows;
}

#define ARGUMENT(word, value)                                                  \
    if (!strcmp(name, word))                                                   \
        return value;

/* Returns the argument if it is text or a float; otherwise NULL. */
static const char *text_argument(Plain *p, int node, const char *name)
{
    const Node *n = node_at(p->g.p, node);
    ARGUMENT("y", plain_of_choice(p, plain_value(p, node), plain_columns(n)))
    ARGUMENT("y_scale", scale_of(p, node))
    ARGUMENT("x", x_text(p, node))
    ARGUMENT("x_scale", plain_of_choice(p, scale_of(p, n->in[0]), 1))
    ARGUMENT("a", x_text(p, node))
    ARGUMENT("b", input_text(p, node, 1))
    ARGUMENT("ids",
             n->op == OpChoose ? plain_value(p, node) : input_text(p, node, 1))
    ARGUMENT("w", w_text(p, node))
    ARGUMENT("w_scale", matrix_part(p, node, "_scale", 1))
    ARGUMENT("w_step", matrix_part(p, node, "_step", row_groups(p, node)))
    ARGUMENT("w_offset", matrix_part(p, node, "_offset", row_groups(p, node)))
    ARGUMENT("bias", of_expert(p, vector_text(p, node, 0), n->type.dim[1].c))
    ARGUMENT("gamma", vector_text(p, node, 0))
    ARGUMENT("beta", vector_text(p, node, 1))
    ARGUMENT("table", plain_table_row(p, node, n->in[1]))
    ARGUMENT("before", before_text(p, node))
    ARGUMENT("rows", rows_text(p, node))
    ARGUMENT("rows_in", rows_in_text(p, node))
    ARGUMENT("n", plain_count(p, n->type, plain_columns(n)))
    ARGUMENT("eps", plain_float(p->g.a, n->eps))
    ARGUMENT("cap", plain_float(p->g.a, n->cap))
    ARGUMENT("by", plain_float(p->g.a, n->scale))
    return NULL;
}

#define IN(k) plain_columns(input_of(p, n, k))

/* Returns the argument if it is an integer. `first` of a convolution is the row
 * that tap 0 reads for row 0, counted from the first row that is not skipped.
 * `first` of FirstRow is the index of the learned row. */
static int64_t number_argument(const Plain *p, int node, const char *name)
{
    const Node *n = node_at(p->g.p, node);
    ARGUMENT("d", n->op == OpHeadNorm ? n->type.dim[1].c / n->heads
                                      : plain_columns(n))
    ARGUMENT("d_in", IN(0))
    ARGUMENT("d_out", plain_columns(n))
    ARGUMENT("d_a", IN(0) / n->heads)
    ARGUMENT("d_b", IN(1) / n->heads_kv)
    ARGUMENT("d_head", plain_columns(n) / n->heads)
    ARGUMENT("d_tap", d_tap(n))
    ARGUMENT("heads", n->heads)
    ARGUMENT("heads_b", n->heads_kv)
    ARGUMENT("dims", n->dims)
    ARGUMENT("first", n->op == OpFirstRow ? -n->first : n->first - n->skipped)
    ARGUMENT("kept", n->state / IN(0))
    ARGUMENT("n_taps", n->taps)
    ARGUMENT("dilation", n->dilation)
    ARGUMENT("stride", n->stride > 0 ? n->stride : 1)
    ARGUMENT("shared", shared_by(p, node))
    ARGUMENT("chosen", n->op == OpSpread ? n->type.dim[0].times : IN(1))
    ARGUMENT("groups", n->groups)
    ARGUMENT("some", n->groups_chosen)
    ARGUMENT("pairs", n->group_pairs)
    ARGUMENT("softmax", n->softmax)
    ARGUMENT("normalize", n->normalize)
    ARGUMENT("n_channels", n->channels)
    ARGUMENT("tall", n->tall)
    ARGUMENT("wide", n->wide)
    ARGUMENT("across", n->across)
    die("kernels/plain.c: nothing is called %s", name);
}

const char *plain_argument(Plain *p, int node, const char *name)
{
    const char *text = text_argument(p, node, name);
    return text ? text : plain_integer(p->g.a, number_argument(p, node, name));
}
