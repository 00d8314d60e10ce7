/* merge_qkv.c: merge-qkv merges products of the same rows within a layer.
 *
 *     %3 = matmul %0, %1                  %5 = stack %1, %3
 *     %4 = bias %3, %2                    %6 = matmul %0, %5
 *     %7 = matmul %0, %5            ->    %7 = stack %2, %4
 *     %8 = bias %7, %6                    %8 = bias %6, %7
 *                                         %9 = slice %8, first 0
 *                                         %10 = slice %8, first d
 *
 * It merges query, key and value of self-attention or of latent attention, key
 * and value of cross-attention, and the two products before a gate. Either all
 * or none must have a bias, and the weights must be stored in one format.
 * needs: to run before fuse-epilogue.  keeps: values, and the names of the
 * results.  breaks: nothing. */
#include "passes/rewrite.h"

enum { MaxParts = 4 }; /* maximum inputs of a Stack */

typedef struct { /* products that read the same rows */
    int n, matmul[MaxParts], bias[MaxParts]; /* bias -1: no bias */
} Group;

static bool mergeable(const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    return n->op == OpMatmul && g->nodes.at[n->in[1]].entry == EntryNone;
}

/* Returns the unscaled tensor at in[1] of a Matmul or Bias. */
static const Node *tensor_of(const Graph *g, int node)
{
    int w = g->nodes.at[node].in[1];
    while (g->nodes.at[w].op == OpScale)
        w = g->nodes.at[w].in[0];
    return &g->nodes.at[w];
}

static bool same_rows(const Graph *g, int a, int b)
{
    const Node *x = &g->nodes.at[a], *y = &g->nodes.at[b];
    return mergeable(g, a) && mergeable(g, b) && x->in[0] == y->in[0]
        && same_part(x, y) && x->sublayer == y->sublayer && !x->routing
        && !y->routing;
}

static int bias_of(const Graph *g, int matmul)
{
    int reader = graph_sole_reader(g, matmul);
    return reader >= 0 && g->nodes.at[reader].op == OpBias ? reader : -1;
}

/* Finds all products that can merge with `first`. The group is empty if an
 * earlier product of the layer belongs to it. */
static Group find_group(const Graph *g, int first)
{
    Group p = { 0 };
    if (!mergeable(g, first))
        return p;
    const Node *at = g->nodes.at; /* nodes of a layer are adjacent */
    for (int i = first - 1; i >= 0 && same_layer(&at[i], &at[first]); i--)
        if (same_rows(g, first, i))
            return p;
    for (int i = first;
         i < g->nodes.n && same_layer(&at[i], &at[first]) && p.n < MaxParts;
         i++) {
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
            pass_missed(g, p->matmul[0], "stays apart: %s is requested by name",
                        m->name);
        bool differs = (p->bias[i] < 0) != (p->bias[0] < 0);
        if (differs)
            pass_missed(g, p->matmul[0],
                        "stays apart: only one of it and %s has a bias",
                        m->name);
        const bool stored = tensor_of(g, p->matmul[i])->type.elem
                         == tensor_of(g, p->matmul[0])->type.elem;
        if (!stored)
            pass_missed(g, p->matmul[0],
                        "stays apart: its weights and those of %s have "
                        "different formats",
                        m->name);
        if (kept || differs || !stored)
            return false;
    }
    return p->n > 1;
}

/* Returns the merged name: "qk" for "q" and "k". */
static char *merged_word(const Graph *g, const Group *p)
{
    char *word = arena_strdup(g->arena, "");
    for (int i = 0; i < p->n; i++)
        word = arena_printf(g->arena, "%s%s", word,
                            tensor_of(g, p->matmul[i])->word);
    return word;
}

/* Returns the Stack of the tensors of all parts. Its word is `word`; its name
 * in a weights file would be `word` plus `suffix`. */
static Node stack_of(const Graph *g, const int *part, int n, const char *word,
                     const char *suffix)
{
    Node stack = g->nodes.at[g->nodes.at[part[0]].in[1]];
    stack.op = OpStack;
    stack.word = word;
    stack.name = graph_name(g->arena, &stack,
                            arena_printf(g->arena, "%s%s", word, suffix));
    stack.scale = 0;
    stack.nin = n;
    for (int i = 0; i < n; i++)
        stack.in[i] = g->nodes.at[part[i]].in[1];
    return stack;
}

/* Adds a node like `model`, named `word`, that applies the stack to x. */
static int merge(Graph *g, int model, int x, const char *word, Node stack)
{
    Node whole = g->nodes.at[model];
    whole.word = word;
    whole.name = graph_name(g->arena, &whole, word);
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

/* Emits a remark that expert products are not merged, even if they read the
 * same rows. Returns 0. */
static int leave_experts(Graph *g, int node)
{
    for (int i = node - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[node], *before = &g->nodes.at[i];
        if (!same_layer(n, before))
            return 0;
        if (before->op == OpLinear && before->in[0] == n->in[0])
            pass_note(g, node, "stays apart from %s: by experts", before->name);
    }
    return 0;
}

static int merge_group(Graph *g, int first)
{
    if (g->nodes.at[first].nin > InRoutes && g->nodes.at[first].op == OpLinear)
        return leave_experts(g, first);
    Group p = find_group(g, first);
    if (!may_merge(g, &p))
        return 0;
    bool biased = p.bias[0] >= 0;
    const char *word = merged_word(g, &p);
    const char *sum = arena_printf(g->arena, "%s.matmul", word);
    const char *bias = arena_printf(g->arena, "%s.bias", word);
    int whole = merge(g, first, g->nodes.at[first].in[0], biased ? sum : word,
                      stack_of(g, p.matmul, p.n, word, ".weight"));
    if (biased)
        whole = merge(g, p.bias[0], whole, word,
                      stack_of(g, p.bias, p.n, bias, ""));
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
