/* check_graph.c: verifies a graph after it is built and after every pass. A
 * violation is a bug of attnc, so the verifier prints the node and dies. */
#include "graph/graph.h"

/* the graph to check, and the last pass that changed it */
typedef struct {
    const Graph *g;
    const char *after;
} Verifier;

static void expect(const Verifier *c, bool holds, int node, const char *what)
{
    if (!holds)
        die("graph after %s: %s: %s", c->after, what,
            print_node(c->g->arena, c->g, node));
}

/* True if the node is computed when weights are packed. A Scale can also belong
 * to an entry. */
static bool is_constant(const Node *n)
{
    return op_info[n->op].op_class == ClassConst
        || (n->op == OpScale && n->entry == EntryNone);
}

static void check_inputs(const Verifier *c, int i)
{
    const Node *n = &c->g->nodes.at[i];
    const OpInfo *op = &op_info[n->op];
    expect(c, n->nin >= op->least && n->nin <= op->most, i, "number of inputs");
    for (int k = 0; k < n->nin; k++) {
        bool absent = n->in[k] == -1 && n->op == OpLinear && k >= 2;
        expect(c, absent || (n->in[k] >= 0 && n->in[k] < i), i,
               "an input does not come earlier");
    }
}

/* True if n may read `from`. Only two edges cross entries: from an encode
 * Append to its Recall, and from an encoder's scan to the decoder's. */
static bool may_read(const Graph *g, const Node *n, const Node *from)
{
    if (n->sourced && from->op == OpRecurrent && from->state > 0)
        return from->entry == EntryEncode && from->layer == n->layer
            && from->cell == n->cell;
    if (n->op != OpRecall)
        return from->entry == n->entry || from->entry == EntryNone;
    return from->op == OpAppend && from->entry == EntryEncode
        && n->entry == EntryDecode && g->cache[n->cache].of == CacheCross
        && from->cache == n->cache && from->place == n->place
        && from->part == n->part && from->layer == n->layer;
}

static void check_entry(const Verifier *c, int i)
{
    const Node *n = &c->g->nodes.at[i];
    expect(c, is_constant(n) == (n->entry == EntryNone), i,
           "constant in an entry, or computed outside");
    for (int k = 0; k < n->nin; k++) {
        if (n->in[k] < 0)
            continue;
        const Node *from = &c->g->nodes.at[n->in[k]];
        expect(c, may_read(c->g, n, from), i, "reads across entries");
        expect(c, op_info[from->op].op_class != ClassSink, i, "reads a sink");
    }
}

static void check_type(const Verifier *c, int i)
{
    Node n = c->g->nodes.at[i];
    expect(c, infer_shape(c->g, &n), i, "the inputs do not fit");
    expect(c, same_type(n.type, c->g->nodes.at[i].type), i,
           "the shape is not that of its inputs");
}

/* Checks that an entry's only output is its last node, and that decode selects
 * or pools its rows exactly once. */
static void check_ends(const Verifier *c, Entry entry)
{
    int outputs = 0, selects = 0, final = -1;
    for (int i = 0; i < c->g->nodes.n; i++) {
        const Node *n = &c->g->nodes.at[i];
        if (n->entry != entry)
            continue;
        outputs += n->op == OpOutput;
        selects += n->op == OpSelect
                || (n->op == OpPool && entry == EntryDecode);
        final = i;
    }
    if (final < 0)
        return;
    Op last = c->g->nodes.at[final].op;
    expect(c, outputs <= 1 && (outputs == 1) == (last == OpOutput), final,
           "the output is not the end of its entry");
    expect(c, selects == (entry == EntryDecode), final,
           "rows are selected once, in decode only");
}

static void check_names(const Verifier *c)
{
    for (int i = 0; i < c->g->nodes.n; i++)
        expect(c, c->g->nodes.at[i].name && c->g->nodes.at[i].name[0], i,
               "no name");
    Arena *a = arena_new();
    Index names = { 0 };
    const char *twice = NULL;
    index_reserve(a, &names, c->g->nodes.n);
    for (int i = 0; i < c->g->nodes.n && !twice; i++)
        if (index_add(a, &names, c->g->nodes.at[i].name, i) != i)
            twice = c->g->nodes.at[i].name;
    arena_free(a);
    if (twice)
        die("graph after %s: two nodes are named %s", c->after, twice);
}

/* Checks the graph's edge counts. Compares two weighted sums, which need no
 * memory and differ for nearly all wrong counts. */
static void check_readers(const Verifier *c)
{
    const Graph *g = c->g;
    uint64_t counted = 0, found = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const uint64_t weight = (uint64_t)i * (uint64_t)i + 1;
        const Node *n = &g->nodes.at[i];
        counted += weight * (uint64_t)g->readers.at[i].edges
                 + (weight << 20) * (uint64_t)g->readers.at[i].sum;
        for (int k = 0; k < n->nin; k++) {
            const uint64_t in = (uint64_t)n->in[k];
            if (n->in[k] >= 0)
                found += (in * in + 1) * (1 + ((uint64_t)i << 20));
        }
    }
    if (counted != found)
        die("graph after %s: readers are not counted", c->after);
}

void check_graph(const Graph *g, const char *after)
{
    Verifier c = { g, after };
    for (int i = 0; i < g->nodes.n; i++) {
        if (g->nodes.at[i].op < 0 || g->nodes.at[i].op >= OpCount)
            die("graph after %s: node %d has no op", after, i);
        check_inputs(&c, i);
        check_entry(&c, i);
        check_type(&c, i);
    }
    check_names(&c);
    check_ends(&c, EntryEncode);
    check_ends(&c, EntryDecode);
    check_readers(&c);
}
