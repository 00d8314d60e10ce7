/* merge-qkv: products of the same rows within a layer become one product.
 *
 *     %3 = matmul %0, %1                  %5 = stack %1, %3
 *     %4 = bias %3, %2                    %6 = matmul %0, %5
 *     %7 = matmul %0, %5            ->    %7 = stack %2, %4
 *     %8 = bias %7, %6                    %8 = bias %6, %7
 *                                         %9 = slice %8, first 0
 *                                         %10 = slice %8, first d
 *
 * Query, key and value of self-attention; key and value of cross-attention;
 * both products in front of a gate. All have a bias or none has.
 * needs: to run before fuse-epilogue.  keeps: values, and the names of the
 * results.  breaks: nothing.                                                */
#include <string.h>

#include "passes/rewrite.h"

enum { MaxParts = MaxIn - 1 }; /* what a Stack takes */

typedef struct { /* products that read the same rows */
    int n, matmul[MaxParts], bias[MaxParts]; /* bias -1: none */
} Group;

static bool mergeable(const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    return n->op == OpMatmul && g->nodes.at[n->in[1]].entry == EntryNone;
}

/* The tensor under in[1] of a Matmul or Bias. */
static const char *tensor_name(const Graph *g, int node)
{
    int w = g->nodes.at[node].in[1];
    while (g->nodes.at[w].op == OpScale)
        w = g->nodes.at[w].in[0];
    return g->nodes.at[w].name;
}

/* Bytes of `name` without its last segment and the dot before that. */
static size_t without_last(const char *name, size_t n)
{
    while (n > 0 && name[n - 1] != '.')
        n--;
    return n > 0 ? n - 1 : 0;
}

/* Are both weights of one sublayer? encoder.0.ffn.w1.weight, .ffn.w3.weight */
static bool same_sublayer(const char *a, const char *b)
{
    size_t m = without_last(a, without_last(a, strlen(a)));
    size_t n = without_last(b, without_last(b, strlen(b)));
    return m == n && strncmp(a, b, n) == 0;
}

static bool same_rows(const Graph *g, int a, int b)
{
    const Node *x = &g->nodes.at[a], *y = &g->nodes.at[b];
    return mergeable(g, a) && mergeable(g, b) && x->in[0] == y->in[0]
        && same_layer(x, y)
        && same_sublayer(tensor_name(g, a), tensor_name(g, b));
}

static int bias_of(const Graph *g, int matmul)
{
    int reader = graph_sole_reader(g, matmul);
    return reader >= 0 && g->nodes.at[reader].op == OpBias ? reader : -1;
}

/* Are both of one layer, or of none? Such nodes stand together. */
static bool neighbours(const Graph *g, int a, int b)
{
    const Node *x = &g->nodes.at[a], *y = &g->nodes.at[b];
    return x->layer == y->layer && !strcmp(x->stack, y->stack);
}

/* All products like `first`, if it is the first of them. */
static Group find_group(const Graph *g, int first)
{
    Group p = { 0 };
    if (!mergeable(g, first))
        return p;
    for (int i = first - 1; i >= 0 && neighbours(g, i, first); i--)
        if (same_rows(g, first, i))
            return p;
    for (int i = first;
         i < g->nodes.n && neighbours(g, i, first) && p.n < MaxParts; i++) {
        if (!same_rows(g, first, i))
            continue;
        p.matmul[p.n] = i;
        p.bias[p.n++] = bias_of(g, i);
    }
    return p;
}

static bool may_merge(const Graph *g, const Group *p)
{
    for (int i = 0; i < p->n; i++) {
        const Node *m = &g->nodes.at[p->matmul[i]];
        bool kept = m->keep
                 || (p->bias[i] >= 0 && g->nodes.at[p->bias[i]].keep);
        if (kept)
            pass_missed(g, p->matmul[0],
                        "stays apart: %s is asked for by "
                        "name",
                        m->name);
        bool differs = (p->bias[i] < 0) != (p->bias[0] < 0);
        if (differs)
            pass_missed(g, p->matmul[0],
                        "stays apart: of it and %s only one "
                        "has a bias",
                        m->name);
        if (kept || differs)
            return false;
    }
    return p->n > 1;
}

/* "layer.q.weight", "layer.k.weight" -> "layer.qk" */
static char *merged_name(const Graph *g, const Group *p)
{
    char *name = NULL;
    for (int i = 0; i < p->n; i++) {
        const char *tensor = tensor_name(g, p->matmul[i]);
        const char *end = strrchr(tensor, '.');
        size_t n = end ? (size_t)(end - tensor) : strlen(tensor);
        char *base = arena_strndup(g->arena, tensor, n);
        const char *dot = strrchr(base, '.');
        name = i == 0
                 ? base
                 : arena_printf(g->arena, "%s%s", name, dot ? dot + 1 : base);
    }
    return name;
}

/* One node like `model` on (x, the weights of all parts stacked). */
static int merge(Graph *g, const int *part, int n, int x, const char *name,
                 const char *tensor)
{
    Node whole = g->nodes.at[part[0]];
    Node stack = g->nodes.at[whole.in[1]];
    stack.op = OpStack;
    stack.name = tensor;
    stack.scale = 0;
    stack.nin = n;
    for (int i = 0; i < n; i++)
        stack.in[i] = g->nodes.at[part[i]].in[1];
    whole.name = name;
    whole.in[0] = x;
    whole.in[1] = graph_add(g, stack);
    return graph_add(g, whole);
}

static void slice(Graph *g, int node, int whole, int64_t first)
{
    Node n = g->nodes.at[node];
    n.op = OpSlice;
    n.in[0] = whole;
    n.nin = 1;
    n.first = first;
    graph_set(g, node, n);
}

static int merge_group(Graph *g, int first)
{
    Group p = find_group(g, first);
    if (!may_merge(g, &p))
        return 0;
    Arena *a = g->arena;
    bool biased = p.bias[0] >= 0;
    const char *name = merged_name(g, &p);
    const char *product = biased ? arena_printf(a, "%s.matmul", name) : name;
    int whole = merge(g, p.matmul, p.n, g->nodes.at[first].in[0], product,
                      arena_printf(a, "%s.weight", name));
    if (biased)
        whole = merge(g, p.bias, p.n, whole, name,
                      arena_printf(a, "%s.bias", name));
    int64_t column = 0;
    for (int i = 0; i < p.n; i++) {
        int result = biased ? p.bias[i] : p.matmul[i];
        slice(g, result, whole, column);
        column += g->nodes.at[result].type.dim[1].c;
        if (biased)
            graph_remove(g, p.matmul[i]);
    }
    return 1;
}

int merge_qkv(Graph *g)
{
    return pass_each(g, merge_group);
}
