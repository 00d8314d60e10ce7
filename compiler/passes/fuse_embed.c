/* fuse_embed.c: fuse-embed scales the row and adds the position within the
 * embedding lookup.
 *
 *     %2 = embed %0, %1
 *     %3 = scale %2, scale s          (if it was not folded)
 *     %5 = position %4          ->    %6 = embed %0, %1, %4, scale s
 *     %6 = add %3, %5
 *
 * needs: nothing.  keeps: the value and name of the last node.
 * breaks: nothing. */
#include "passes/rewrite.h"

/* Replaces the root by `e`, the lookup that the root read. */
static int become(Graph *g, int root, Node e)
{
    const Node *n = &g->nodes.at[root];
    e.name = n->name;
    e.word = n->word;
    e.pos = n->pos;
    e.keep = n->keep;
    graph_set(g, root, e);
    return 1;
}

/* True for a lookup without positions. A lookup with positions cannot take a
 * scale that follows the addition. */
static bool is_bare(const Graph *g, int node)
{
    return g->nodes.at[node].op == OpEmbed && g->nodes.at[node].nin == 2;
}

static int absorb_scale(Graph *g, int root)
{
    int x = g->nodes.at[root].in[0];
    if (!is_bare(g, x) || !pass_takes(g, x, root))
        return 0;
    Node e = g->nodes.at[x];
    e.scale *= g->nodes.at[root].scale;
    graph_remove(g, x);
    return become(g, root, e);
}

static int absorb_position(Graph *g, int root)
{
    int x = g->nodes.at[root].in[0], p = g->nodes.at[root].in[1];
    if (!is_bare(g, x) || g->nodes.at[p].op != OpPosition
        || !pass_takes(g, x, root) || !pass_takes(g, p, root))
        return 0;
    Node e = g->nodes.at[x];
    e.in[2] = g->nodes.at[p].in[0];
    e.first = g->nodes.at[p].first;
    e.nin = 3;
    graph_remove(g, x);
    graph_remove(g, p);
    return become(g, root, e);
}

static int fuse_lookup(Graph *g, int root)
{
    switch (g->nodes.at[root].op) {
    case OpScale: return absorb_scale(g, root);
    case OpAdd:   return absorb_position(g, root);
    default:      return 0;
    }
}

/* Explains why an addition or a position stays unfused. */
static void explain(const Graph *g, int node)
{
    const Node *n = &g->nodes.at[node];
    if (n->op == OpAdd && is_bare(g, n->in[1]))
        pass_note(g, node, "stays: a look-up reads one table");
    if (n->op == OpAdd && g->nodes.at[n->in[1]].op == OpPosition)
        pass_note(g, node, "stays: its rows come from no look-up");
    if (n->op == OpPosition && !pass_refuses(g, node))
        pass_note(g, node, "stays: it is added to no look-up");
}

int fuse_embed(Graph *g)
{
    int done = pass_each(g, fuse_lookup);
    for (int i = 0; i < g->nodes.n; i++)
        explain(g, i);
    return done;
}
