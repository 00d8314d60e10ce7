/* build_node.c: adds nodes to the graph under construction, with names, places
 * and weights.                                                              */
#include "graph/build.h"

int put_node(Build *b, Node n, const char *name)
{
    n.entry = op_info[n.op].op_class == ClassConst ? EntryNone : b->entry;
    n.stack = b->stack;
    n.layer = b->layer;
    n.name = arena_printf(b->g->arena, "%s%s", b->prefix, name);
    n.pos = spec_pos(b->s, b->field);
    return graph_add(b->g, n);
}

int put_unary(Build *b, Op op, int x, const char *name)
{
    return put_node(b, (Node){ .op = op, .in = { x }, .nin = 1 }, name);
}

int put_binary(Build *b, Op op, int x, int y, const char *name)
{
    return put_node(b, (Node){ .op = op, .in = { x, y }, .nin = 2 }, name);
}

int put_scale(Build *b, int x, double by, const char *name)
{
    if (by >= 1 && by <= 1)
        return x;
    Node n = { .op = OpScale, .in = { x }, .nin = 1, .scale = by };
    return put_node(b, n, name);
}

int put_softcap(Build *b, int x, double cap, const char *name)
{
    if (!(cap > 0))
        return x;
    Node n = { .op = OpSoftcap, .in = { x }, .nin = 1, .cap = cap };
    return put_node(b, n, name);
}

int put_constant(Build *b, Op op, int64_t rows, int64_t columns,
                 const char *name)
{
    Type t = { ElemF32,
               columns > 0 ? 2 : 1,
               { { rows, SymNone }, { columns, SymNone } } };
    return put_node(b, (Node){ .op = op, .type = t }, name);
}

int put_matrix(Build *b, int64_t rows, int64_t columns, const char *name)
{
    Type t = { b->s->dtype == DtypeBf16 ? ElemBf16 : ElemF32,
               2,
               { { rows, SymNone }, { columns, SymNone } } };
    return put_node(b, (Node){ .op = OpWeight, .type = t }, name);
}

char *build_join(Build *b, const char *head, const char *tail)
{
    return arena_printf(b->g->arena, "%s%s", head, tail);
}

void build_enter(Build *b, Entry entry, const char *stack)
{
    b->entry = entry;
    b->stack = stack;
    b->layer = -1;
    b->prefix = "";
}

static int64_t width(const Build *b, int x)
{
    Type t = b->g->nodes.at[x].type;
    return t.dim[t.rank - 1].c;
}

int put_linear(Build *b, int x, int64_t out, bool bias, const char *name)
{
    int w = put_matrix(b, out, width(b, x), build_join(b, name, ".weight"));
    if (!bias)
        return put_binary(b, OpMatmul, x, w, name);
    int y = put_binary(b, OpMatmul, x, w, build_join(b, name, ".matmul"));
    int v = put_constant(b, OpWeight, out, 0, build_join(b, name, ".bias"));
    return put_binary(b, OpBias, y, v, name);
}

/* A norm of rows `d` wide: gamma, and beta where the spec has it. */
static int norm_of(Build *b, Node n, int64_t d, const char *name)
{
    b->field = "norm.type";
    n.norm = b->s->norm_type;
    n.eps = b->s->norm_eps;
    n.nin = 2;
    n.in[1] = put_constant(b, OpWeight, d, 0, build_join(b, name, ".weight"));
    if (n.norm == NormLayer && b->s->norm_bias)
        n.in[n.nin++] = put_constant(b, OpWeight, d, 0,
                                     build_join(b, name, ".bias"));
    return put_node(b, n, name);
}

int put_norm(Build *b, int x, const char *name)
{
    return norm_of(b, (Node){ .op = OpNorm, .in = { x } }, width(b, x), name);
}

int put_head_norm(Build *b, int x, int64_t heads, const char *name)
{
    Node n = { .op = OpHeadNorm, .in = { x }, .heads = heads };
    return norm_of(b, n, width(b, x) / heads, name);
}
