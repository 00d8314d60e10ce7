/* build_node.c: adds nodes to the graph under construction and names them. */
#include "graph/build.h"

/* Adds a node named `word` at the current place of `b`. Only the full name ends
 * in `suffix`: the tensor of q is q.weight. */
static int put_named(Build *b, Node n, const char *word, const char *suffix)
{
    Arena *a = b->g->arena;
    n.entry = op_info[n.op].op_class == ClassConst ? EntryNone : b->entry;
    n.stack = b->stack;
    n.layer = b->layer;
    n.sublayer = b->sublayer;
    n.outside_layers = b->outside_layers;
    n.word = arena_printf(a, "%s%s", b->prefix, word);
    n.name = graph_name(a, &n, arena_printf(a, "%s%s", n.word, suffix));
    n.pos = spec_pos(b->s, b->field);
    return graph_add(b->g, n);
}

int put_node(Build *b, Node n, const char *word)
{
    return put_named(b, n, word, "");
}

int put_unary(Build *b, Op op, int x, const char *word)
{
    return put_node(b, (Node){ .op = op, .in = { x }, .nin = 1 }, word);
}

int put_binary(Build *b, Op op, int x, int y, const char *word)
{
    return put_node(b, (Node){ .op = op, .in = { x, y }, .nin = 2 }, word);
}

int put_join(Build *b, int x, int y, int64_t heads, int64_t heads_kv,
             const char *word)
{
    Node n = { .op = OpJoin,
               .in = { x, y },
               .nin = 2,
               .heads = heads,
               .heads_kv = heads_kv };
    return put_node(b, n, word);
}

int put_scale(Build *b, int x, double by, const char *word)
{
    if (by >= 1 && by <= 1)
        return x;
    Node n = { .op = OpScale, .in = { x }, .nin = 1, .scale = by };
    return put_node(b, n, word);
}

int put_softcap(Build *b, int x, double cap, const char *word)
{
    if (!(cap > 0))
        return x;
    Node n = { .op = OpSoftcap, .in = { x }, .nin = 1, .cap = cap };
    return put_node(b, n, word);
}

static Type constant(Elem elem, int64_t rows, int64_t columns)
{
    const int rank = columns > 0 ? 2 : 1;
    return (Type){ elem, rank, { { .c = rows }, { .c = columns } } };
}

int put_table(Build *b, Op op, int64_t rows, int64_t columns, const char *word)
{
    Node n = { .op = op, .type = constant(ElemF32, rows, columns) };
    return put_node(b, n, word);
}

int put_weight(Build *b, int64_t rows, int64_t columns, const char *word)
{
    Node n = { .op = OpWeight, .type = constant(ElemF32, rows, columns) };
    return put_named(b, n, word, ".weight");
}

int put_bias(Build *b, int64_t rows, const char *word)
{
    Node n = { .op = OpWeight, .type = constant(ElemF32, rows, 0) };
    return put_node(b, n, build_join(b, word, ".bias"));
}

int put_matrix(Build *b, int64_t rows, int64_t columns, const char *word,
               int readers)
{
    Node n = { .op = OpWeight,
               .type = constant(ElemF32, rows, columns),
               .readers = readers };
    const int node = put_named(b, n, word, ".weight");
    Node *put = &b->g->nodes.at[node];
    put->type.elem = (Elem)spec_dtype(b->s, put->name, readers);
    return node;
}

char *build_join(Build *b, const char *head, const char *tail)
{
    return arena_printf(b->g->arena, "%s%s", head, tail);
}

void build_enter(Build *b, Entry entry, Stack stack)
{
    b->entry = entry;
    b->stack = stack;
    b->layer = -1;
    b->sublayer = SublayerNone;
    b->prefix = "";
}

int64_t width_of(const Build *b, int x)
{
    Type t = b->g->nodes.at[x].type;
    return t.dim[t.rank - 1].c;
}

int put_clipped(Build *b, int x, const char *word)
{
    if (!(b->s->attention_clip > 0))
        return x;
    b->field = "attention.clip";
    Node n = {
        .op = OpClip, .in = { x }, .nin = 1, .cap = b->s->attention_clip
    };
    return put_node(b, n, build_join(b, word, ".clipped"));
}

int put_activation(Build *b, int x, Activation act, const char *word)
{
    if (act == ActNone)
        return x;
    Node n = { .op = OpActivate, .in = { x }, .nin = 1, .act = act };
    return put_node(b, n, word);
}

int put_linear(Build *b, int x, int64_t out, bool bias, const char *word)
{
    int w = put_matrix(b, out, width_of(b, x), word, ReadByProduct);
    if (!bias)
        return put_binary(b, OpMatmul, x, w, word);
    int y = put_binary(b, OpMatmul, x, w, build_join(b, word, ".matmul"));
    int v = put_bias(b, out, word);
    return put_binary(b, OpBias, y, v, word);
}

int put_parts(Build *b, int64_t parts, int64_t rows, int64_t columns,
              const char *word, const char *pattern)
{
    const Node n = {
        .op = OpWeight,
        .type = { .rank = columns > 0 ? 3 : 2,
                  .dim = { { .c = parts }, { .c = rows }, { .c = columns } } },
        .parts = parts
    };
    const int node = put_node(b, n, word);
    Node *put = &b->g->nodes.at[node];
    put->name = graph_name(b->g->arena, put, pattern);
    return node;
}

/* Adds gamma or beta of a norm: d columns, or those of each of `parts`
 * heads. */
static int norm_vector(Build *b, bool gamma, int64_t parts, int64_t d,
                       const char *word)
{
    if (!parts)
        return gamma ? put_weight(b, d, 0, word) : put_bias(b, d, word);
    return put_parts(b, parts, d, 0,
                     gamma ? word : build_join(b, word, ".bias"),
                     arena_printf(b->g->arena, "%s.{e}.%s", word,
                                  gamma ? "weight" : "bias"));
}

/* Adds a norm over d columns: gamma, and beta if the spec has it. `parts`: the
 * number of heads that have a gamma of their own, or 0. */
static int norm_of(Build *b, Node n, int64_t parts, int64_t d, const char *word)
{
    b->field = "norm.type";
    n.norm = b->s->norm_type;
    n.eps = b->s->norm_eps;
    n.nin = 2;
    n.in[1] = norm_vector(b, true, parts, d, word);
    if (n.norm == NormLayer && b->s->norm_bias)
        n.in[n.nin++] = norm_vector(b, false, parts, d, word);
    return put_node(b, n, word);
}

int put_norm(Build *b, int x, const char *word)
{
    return norm_of(b, (Node){ .op = OpNorm, .in = { x } }, 0, width_of(b, x),
                   word);
}

int put_head_norm(Build *b, int x, int64_t heads, bool each, const char *word)
{
    Node n = { .op = OpHeadNorm, .in = { x }, .heads = heads };
    return norm_of(b, n, each ? heads : 0, width_of(b, x) / heads, word);
}
