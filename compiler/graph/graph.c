/* graph.c: the op graph as one array of nodes in execution order. Nodes refer
 * to each other by index. A pass rewrites nodes in place, adds new ones at the
 * end, and calls graph_sweep() to restore the order. */
#include <string.h>

#include "graph/graph.h"

/* Words of the column `code`. Each expands to OpInfo's last two members: true
 * if the code can be emitted undivided, and the size of the code in bytes. */
#define NO_CODE            false, 0
#define STEP(f)            false, StepBytes
#define SCORE_ROW(f)       false, StepBytes
#define WHOLE(f)           true, StepBytes
#define WHOLE_OF(f, bytes) true, bytes
#define ROWS(...)          true, StepBytes
#define ROWS_ACT           ROWS
#define ROWS_BY            ROWS
enum { StepBytes = 250 };

const OpInfo op_info[OpCount] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value, \
           gate, code, ...)                                                    \
    [Op##id] = { name,    min,                 max, Class##class,              \
                 formula, InPlace##in_place, code },
#include "graph/ops.h"
};

const Op normalizer_op[Normalizers] = {
#define NORMALIZER(name, ...) Op##name,
#include "spec/fields/score_forms.h"
};

int normalizer_of(Op op)
{
    for (int i = 0; i < Normalizers; i++)
        if (normalizer_op[i] == op)
            return i;
    return -1;
}

const char *const stack_name[Stacks] = {
    [StackNone] = "",
    [StackEncoder] = "encoder",
    [StackCross] = "cross",
    [StackDecoder] = "decoder",
};
const char *const sublayer_name[Sublayers] = {
    [SublayerNone] = "",
    [SublayerSelf] = "self_attn",
    [SublayerRecurrent] = "recurrent",
    [SublayerConvolution] = "convolution",
    [SublayerCross] = "cross_attn",
    [SublayerFfn] = "ffn",
};

/* ---- edges ---- */

/* Adds a node's edges to the counts of its inputs; sign -1 removes them. */
static void count_edges(Graph *g, int reader, int sign)
{
    const Node *n = &g->nodes.at[reader];
    for (int k = 0; n->op != OpNop && k < n->nin; k++)
        if (n->in[k] >= 0) {
            g->readers.at[n->in[k]].edges += sign;
            g->readers.at[n->in[k]].sum += sign * reader;
        }
}

int graph_add(Graph *g, Node n)
{
    for (int i = n.nin; i < MaxIn; i++)
        n.in[i] = -1;
    if (!infer_shape(g, &n))
        die("graph: the inputs of %s do not fit %s", n.name,
            op_info[n.op].name);
    vec_push(g->arena, &g->nodes, n);
    vec_push(g->arena, &g->readers, (Readers){ 0 });
    count_edges(g, g->nodes.n - 1, 1);
    return g->nodes.n - 1;
}

void graph_set(Graph *g, int node, Node n)
{
    count_edges(g, node, -1);
    g->nodes.at[node] = n;
    count_edges(g, node, 1);
}

void graph_link(Graph *g, int node, int k, int from)
{
    count_edges(g, node, -1);
    g->nodes.at[node].in[k] = from;
    count_edges(g, node, 1);
}

void graph_remove(Graph *g, int node)
{
    count_edges(g, node, -1);
    g->nodes.at[node].op = OpNop;
}

void graph_replace(Graph *g, int old, int new_)
{
    for (int i = 0; i < g->nodes.n && g->readers.at[old].edges; i++)
        for (int k = 0; k < g->nodes.at[i].nin; k++)
            if (i != new_ && g->nodes.at[i].in[k] == old)
                graph_link(g, i, k, new_);
}

int graph_uses(const Graph *g, int node)
{
    return g->readers.at[node].edges;
}

int graph_sole_reader(const Graph *g, int node)
{
    return g->readers.at[node].edges == 1 ? (int)g->readers.at[node].sum : -1;
}

/* ---- the sweep ---- */

enum { Unplaced = -1, InPlacing = -2 };

typedef struct {
    const Graph *from;
    Graph *to;
    int *index; /* old index -> new index, Unplaced or InPlacing */
} Sweep;

/* Moves node i after its inputs. Only nodes that a pass has just added come
 * after their readers, so the recursion is shallow. */
static int place(Sweep *s, int i)
{
    if (s->index[i] >= 0)
        return s->index[i];
    Node n = s->from->nodes.at[i];
    if (s->index[i] == InPlacing || n.op == OpNop)
        die("graph: %s is read %s", n.name,
            n.op == OpNop ? "but was removed" : "by what it needs itself");
    s->index[i] = InPlacing;
    for (int k = 0; k < n.nin; k++)
        if (n.in[k] >= 0)
            n.in[k] = place(s, n.in[k]);
    vec_push(s->to->arena, &s->to->nodes, n);
    return s->index[i] = s->to->nodes.n - 1;
}

static void count_all(Graph *g)
{
    g->readers.n = 0;
    for (int i = 0; i < g->nodes.n; i++)
        vec_push(g->arena, &g->readers, (Readers){ 0 });
    for (int i = 0; i < g->nodes.n; i++)
        count_edges(g, i, 1);
}

/* Moves the live nodes to the spare array; the next sweep moves them back. */
void graph_sweep(Graph *g)
{
    Graph from = *g;
    int *index = arena_alloc(g->arena, (size_t)from.nodes.n * sizeof *index);
    for (int i = 0; i < from.nodes.n; i++)
        index[i] = Unplaced;
    g->nodes.at = g->swept.at;
    g->nodes.cap = g->swept.cap;
    g->nodes.n = 0;
    Sweep s = { &from, g, index };
    for (int i = 0; i < from.nodes.n; i++)
        if (from.nodes.at[i].op != OpNop)
            place(&s, i);
    g->swept.at = from.nodes.at;
    g->swept.cap = from.nodes.cap;
    count_all(g);
}

static bool is_result(const Node *n)
{
    return n->op == OpOutput || n->op == OpAppend || n->op == OpInput
        || n->state > 0 || n->keep;
}

int graph_remove_dead(Graph *g)
{
    int removed = 0, count = g->nodes.n;
    bool *live = arena_alloc(g->arena, (size_t)count * sizeof *live);
    for (int i = count - 1; i >= 0; i--) {
        const Node *n = &g->nodes.at[i];
        live[i] = live[i] || is_result(n);
        for (int k = 0; live[i] && k < n->nin; k++)
            if (n->in[k] >= 0)
                live[n->in[k]] = true;
        if (!live[i]) {
            graph_remove(g, i);
            removed++;
        }
    }
    if (removed)
        graph_sweep(g);
    return removed;
}

int graph_result(const Graph *g)
{
    for (int i = g->nodes.n - 1; i >= 0; i--)
        if (g->nodes.at[i].op == OpOutput)
            return i;
    die("the graph has no output");
}

int graph_find(const Graph *g, const char *name)
{
    if (g->memory && strcmp(name, "encoder.output") == 0)
        name = g->memory;
    for (int i = 0; i < g->nodes.n; i++)
        if (g->nodes.at[i].op != OpNop
            && strcmp(g->nodes.at[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- names ---- */

bool same_layer(const Node *a, const Node *b)
{
    return a->layer == b->layer && a->stack == b->stack;
}

/* Returns the full name of a node. Nodes that the encoder computes for a
 * decoder layer are named after that layer. */
char *graph_name(Arena *a, const Node *n, const char *word)
{
    const char *stack =
        stack_name[n->stack == StackCross ? StackDecoder : n->stack];
    const char *sublayer = sublayer_name[n->sublayer];
    if (n->layer >= 0)
        return arena_printf(a, "%s.%d.%s%s%s", stack, n->layer, sublayer,
                            *sublayer ? "." : "", word);
    return n->outside_layers ? arena_printf(a, "%s.%s", stack, word)
                             : arena_strdup(a, word);
}

void graph_rename(Graph *g, Node *n, const char *suffix)
{
    n->name = arena_printf(g->arena, "%s%s", n->name, suffix);
    n->word = arena_printf(g->arena, "%s%s", n->word, suffix);
}

const char *weight_part(Arena *a, const Node *n, int64_t e)
{
    const char *hole = n->parts ? strstr(n->name, "{e}") : NULL;
    if (!hole)
        return n->name;
    return arena_printf(a, "%.*s%lld%s", (int)(hole - n->name), n->name,
                        (long long)e, hole + 3);
}

int graph_routes(const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    if (n->type.rank != 2 || n->type.dim[0].times == 0)
        return -1;
    if (n->op == OpSpread)
        return n->in[1];
    if (n->op == OpTaps || n->nin == 0)
        return -1; /* frames are in order, not permuted by expert */
    return n->nin > InRoutes ? n->in[InRoutes] : graph_routes(g, n->in[0]);
}

Index graph_names(Arena *a, const Graph *g)
{
    Index names = { 0 };
    index_reserve(a, &names, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++)
        index_add(a, &names, g->nodes.at[i].name, i);
    return names;
}

Graph *graph_copy(Arena *a, const Graph *g)
{
    Graph *copy = arena_alloc(a, sizeof *copy);
    copy->arena = a;
    copy->spec = g->spec;
    copy->memory = g->memory;
    copy->caches = g->caches;
    memcpy(copy->cache, g->cache, sizeof g->cache);
    for (int i = 0; i < g->nodes.n; i++)
        vec_push(a, &copy->nodes, g->nodes.at[i]);
    count_all(copy);
    return copy;
}
