/* plain_arguments.c: finds the arguments for functions of kernels/plain.c. The
 * name of a parameter selects a row of the table `arguments`. */
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

static const char *number(Plain *p, int64_t n)
{
    return arena_printf(p->g.a, "%lld", (long long)n);
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
             ? number(p, columns)
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

/* Returns the vector number `which` among the constants that a node reads; -1
 * if there are fewer. */
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

static int64_t num_d_tap(Plain *p, int node)
{
    return plain_columns(node_at(p->g.p, node)) / node_at(p->g.p, node)->taps;
}

static const char *arg_y(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *y = p->result ? p->result : plain_value(p, node);
    return plain_of_choice(p, y, plain_columns(n));
}

static const char *input_text(Plain *p, int node, int k)
{
    const int in = node_at(p->g.p, node)->in[k];
    return plain_of_choice(p, plain_value(p, in),
                           plain_columns(node_at(p->g.p, in)));
}

/* Returns x of a convolution from the first row that is not skipped. */
static const char *arg_x(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *x = input_text(p, node, 0);
    return n->skipped ? arena_printf(p->g.a, "%s + %lld * %lld", x,
                                     (long long)n->skipped,
                                     (long long)num_d_tap(p, node))
                      : x;
}

static const char *arg_b(Plain *p, int node)
{
    return input_text(p, node, 1);
}

static const char *arg_ids(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return n->op == OpChoose ? plain_value(p, node) : arg_b(p, node);
}

static const char *arg_x_scale(Plain *p, int node)
{
    const char *x = plain_value(p, node_at(p->g.p, node)->in[0]);
    return plain_of_choice(p, arena_printf(p->g.a, "%s_scale", x), 1);
}

static const char *arg_y_scale(Plain *p, int node)
{
    return arena_printf(p->g.a, "%s_scale", plain_value(p, node));
}

/* Returns the weights of a matrix, or an array that belongs to its integers.
 * `row` is the number of elements per row. */
static const char *matrix_part(Plain *p, int node, const char *part,
                               int64_t row)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t rows = matrix_rows(node_at(p->g.p, w)->type);
    return of_expert(p, plain_weight(p, w, part), rows * row);
}

/* Return, for 4-bit weights, how many share a step (0 for other weights), and
 * how many such groups a row has. */
static int64_t num_shared(Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    return dtype_shared(dtype_of(node_at(p->g.p, w)->type));
}

static int64_t row_groups(Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t shared = num_shared(p, node);
    return (matrix_columns(node_at(p->g.p, w)->type) + shared - 1) / shared;
}

static const char *arg_w(Plain *p, int node)
{
    const int w = matrix_input(node_at(p->g.p, node));
    const int64_t shared = num_shared(p, node);
    return matrix_part(p, node, "",
                       shared ? shared / 2 * row_groups(p, node)
                              : matrix_columns(node_at(p->g.p, w)->type));
}

static const char *arg_w_scale(Plain *p, int node)
{
    return matrix_part(p, node, "_scale", 1);
}

static const char *arg_w_step(Plain *p, int node)
{
    return matrix_part(p, node, "_step", row_groups(p, node));
}

static const char *arg_w_offset(Plain *p, int node)
{
    return matrix_part(p, node, "_offset", row_groups(p, node));
}

static const char *vector_text(Plain *p, int node, int which)
{
    const int v = vector_input(p, node, which);
    return v < 0 ? "NULL" : plain_weight(p, v, "");
}

static const char *arg_gamma(Plain *p, int node)
{
    return vector_text(p, node, 0);
}

static const char *arg_beta(Plain *p, int node)
{
    return vector_text(p, node, 1);
}

static const char *arg_bias(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return of_expert(p, vector_text(p, node, 0), n->type.dim[1].c);
}

static const char *arg_before(Plain *p, int node)
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
    const char *from = encodes  ? number(p, n->first)
                     : n->first ? arena_printf(p->g.a, "(%s + %lld)",
                                               plain_past(p, node),
                                               (long long)n->first)
                                : plain_past(p, node);
    return arena_printf(p->g.a, "%s + %s * %lld", w, from, d);
}

static const char *arg_table(Plain *p, int node)
{
    return plain_table_row(p, node, node_at(p->g.p, node)->in[1]);
}

static const char *arg_rows(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    if (p->one_choice)
        return "1";
    if (n->op == OpPool)
        return plain_rows(p, plain_input_type(p, node, 0));
    if (n->op == OpSpread)
        return plain_rows(p, plain_input_type(p, node, 1));
    const char *rows = plain_rows(p, n->type);
    return n->op == OpHeadNorm
             ? arena_printf(p->g.a, "%s * %lld", rows, (long long)n->heads)
             : rows;
}

static const char *arg_rows_in(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    const char *rows = plain_rows(p, plain_input_type(p, node, 0));
    if (n->frames > 1)
        rows = arena_printf(p->g.a, "%s * %lld", rows, (long long)n->frames);
    return n->skipped
             ? arena_printf(p->g.a, "%s - %lld", rows, (long long)n->skipped)
             : rows;
}

static const char *arg_n(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return plain_count(p, n->type, plain_columns(n));
}

static int64_t columns_in(Plain *p, int node, int k)
{
    return plain_columns(input_of(p, node_at(p->g.p, node), k));
}

static int64_t num_d(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return n->op == OpHeadNorm ? n->type.dim[1].c / n->heads : plain_columns(n);
}

static int64_t num_d_in(Plain *p, int node)
{
    return columns_in(p, node, 0);
}

static int64_t num_d_a(Plain *p, int node)
{
    return columns_in(p, node, 0) / node_at(p->g.p, node)->heads;
}

static int64_t num_d_b(Plain *p, int node)
{
    return columns_in(p, node, 1) / node_at(p->g.p, node)->heads_kv;
}

static int64_t num_d_head(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return plain_columns(n) / n->heads;
}

static int64_t num_kept(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return n->state / columns_in(p, node, 0);
}

static int64_t num_chosen(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return n->op == OpSpread ? n->type.dim[0].times : columns_in(p, node, 1);
}

static int64_t num_stride(Plain *p, int node)
{
    const int64_t stride = node_at(p->g.p, node)->stride;
    return stride > 0 ? stride : 1;
}

/* Returns the index of the learned row of FirstRow. For a convolution, returns
 * the row that tap 0 of row 0 reads, counted from the first row that is not
 * skipped. */
static int64_t num_first(Plain *p, int node)
{
    const Node *n = node_at(p->g.p, node);
    return n->op == OpFirstRow ? -n->first : n->first - n->skipped;
}

#define NUMBER(name, what)                                                     \
    static int64_t num_##name(Plain *p, int node)                              \
    {                                                                          \
        return node_at(p->g.p, node)->what;                                    \
    }
NUMBER(heads, heads)
NUMBER(heads_b, heads_kv)
NUMBER(dims, dims)
NUMBER(dilation, dilation)
NUMBER(taps, taps)
NUMBER(groups, groups)
NUMBER(some, groups_chosen)
NUMBER(pairs, group_pairs)
NUMBER(softmax, softmax)
NUMBER(normalize, normalize)
NUMBER(channels, channels)
NUMBER(tall, tall)
NUMBER(wide, wide)
NUMBER(across, across)

#define REAL(name, what)                                                       \
    static double real_##name(const Node *n)                                   \
    {                                                                          \
        return n->what;                                                        \
    }
REAL(eps, eps)
REAL(cap, cap)
REAL(by, scale)

/* clang-format off */
static const struct {
    const char *name;
    const char *(*text)(Plain *p, int node); /* exactly one of these three
                                              * members is set */
    int64_t (*number)(Plain *p, int node);
    double (*real)(const Node *n);
} arguments[] = {
    { "y",          arg_y,        NULL,          NULL },
    { "y_scale",    arg_y_scale,  NULL,          NULL },
    { "x",          arg_x,        NULL,          NULL },
    { "x_scale",    arg_x_scale,  NULL,          NULL },
    { "a",          arg_x,        NULL,          NULL },
    { "b",          arg_b,        NULL,          NULL },
    { "ids",        arg_ids,      NULL,          NULL },
    { "w",          arg_w,        NULL,          NULL },
    { "w_scale",    arg_w_scale,  NULL,          NULL },
    { "w_step",     arg_w_step,   NULL,          NULL },
    { "w_offset",   arg_w_offset, NULL,          NULL },
    { "bias",       arg_bias,     NULL,          NULL },
    { "gamma",      arg_gamma,    NULL,          NULL },
    { "beta",       arg_beta,     NULL,          NULL },
    { "table",      arg_table,    NULL,          NULL },
    { "before",     arg_before,   NULL,          NULL },
    { "rows",       arg_rows,     NULL,          NULL },
    { "rows_in",    arg_rows_in,  NULL,          NULL },
    { "n",          arg_n,        NULL,          NULL },
    { "d",          NULL,         num_d,         NULL },
    { "d_in",       NULL,         num_d_in,      NULL },
    { "d_out",      NULL,         num_d,         NULL },
    { "d_a",        NULL,         num_d_a,       NULL },
    { "d_b",        NULL,         num_d_b,       NULL },
    { "d_head",     NULL,         num_d_head,    NULL },
    { "d_tap",      NULL,         num_d_tap,     NULL },
    { "heads",      NULL,         num_heads,     NULL },
    { "heads_b",    NULL,         num_heads_b,   NULL },
    { "dims",       NULL,         num_dims,      NULL },
    { "first",      NULL,         num_first,     NULL },
    { "kept",       NULL,         num_kept,      NULL },
    { "n_taps",     NULL,         num_taps,      NULL },
    { "dilation",   NULL,         num_dilation,  NULL },
    { "stride",     NULL,         num_stride,    NULL },
    { "shared",     NULL,         num_shared,    NULL },
    { "chosen",     NULL,         num_chosen,    NULL },
    { "groups",     NULL,         num_groups,    NULL },
    { "some",       NULL,         num_some,      NULL },
    { "pairs",      NULL,         num_pairs,     NULL },
    { "softmax",    NULL,         num_softmax,   NULL },
    { "normalize",  NULL,         num_normalize, NULL },
    { "n_channels", NULL,         num_channels,  NULL },
    { "tall",       NULL,         num_tall,      NULL },
    { "wide",       NULL,         num_wide,      NULL },
    { "across",     NULL,         num_across,    NULL },
    { "eps",        NULL,         NULL,          real_eps },
    { "cap",        NULL,         NULL,          real_cap },
    { "by",         NULL,         NULL,          real_by },
};
/* clang-format on */

const char *plain_argument(Plain *p, int node, const char *name)
{
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        if (strcmp(arguments[i].name, name))
            continue;
        if (arguments[i].text)
            return arguments[i].text(p, node);
        if (arguments[i].number)
            return number(p, arguments[i].number(p, node));
        return plain_float(p->g.a, arguments[i].real(node_at(p->g.p, node)));
    }
    die("kernels/plain.c: nothing is called %s", name);
}
