/* fold-scale: move a constant factor into the weights, where it costs nothing.
 *
 *     %4 = matmul %0, %1                  %2 = scale %1, scale s
 *     %5 = bias %4, %3                    %4 = scale %3, scale s
 *     %6 = split %5                 ->    %5 = matmul %0, %2
 *     %8 = scores %6, %7                  %6 = bias %5, %4
 *     %9 = scale %8, scale s              %7 = split %6
 *                                         %9 = scores %7, %8
 *
 *     %2 = embed %0, %1                   %1 = scale %0, scale s
 *     %3 = scale %2, scale s        ->    %3 = embed %1, %2
 *
 * A weight with several readers is not touched: it is scaled at the reader.
 * needs: nothing.  keeps: values of all but the scaled chain, whose nodes get
 * new names.  breaks: nothing.                                              */
#include "pass.h"

static const Node *at(const Graph *g, int node)
{
    return &g->nodes.at[node];
}

static bool folds_into(const Graph *g, int weight, int root)
{
    if (at(g, weight)->entry != EntryNone)
        return false;
    if (graph_uses(g, weight) == 1)
        return true;
    pass_note(g, root, "stays at the reader: %s has several readers",
              at(g, weight)->name);
    return false;
}

/* scores <- split <- [bias] <- matmul <- weight: the query's way. chain[] gets
 * the nodes above the weight. Returns their number, 0: no such way.         */
static int match_query(const Graph *g, int root, int chain[3])
{
    int n = 0, scores = at(g, root)->in[0];
    if (at(g, scores)->op != OpScores || !pass_takes(g, scores, root))
        return 0;
    int x = at(g, scores)->in[0];
    if (at(g, x)->op != OpSplit || !pass_takes(g, x, root))
        return 0;
    chain[n++] = x;
    x = at(g, x)->in[0];
    if (at(g, x)->op == OpBias) {
        if (!pass_takes(g, x, root)
            || !folds_into(g, at(g, x)->in[1], root))
            return 0;
        chain[n++] = x;
        x = at(g, x)->in[0];
    }
    if (at(g, x)->op != OpMatmul) {
        pass_note(g, root, "stays: the query has no projection");
        return 0;
    }
    chain[n++] = x;
    return pass_takes(g, x, root) && folds_into(g, at(g, x)->in[1], root)
         ? n : 0;
}

static bool match_embed(const Graph *g, int root)
{
    int x = at(g, root)->in[0];
    return at(g, x)->op == OpEmbed && pass_takes(g, x, root)
        && folds_into(g, at(g, x)->in[0], root);
}

/* The weight at in[k] of `reader`, times s. */
static void scale_weight(Graph *g, int reader, int k, double s)
{
    int weight = at(g, reader)->in[k];
    Node n = *at(g, weight);
    n.op = OpScale;
    n.in[0] = weight;
    n.nin = 1;
    n.scale = s;
    n.name = arena_printf(g->arena, "%s.scaled", n.name);
    int scaled = graph_add(g, n);
    g->nodes.at[reader].in[k] = scaled;
}

/* The root becomes its input, whose value it already names. */
static void become_input(Graph *g, int root)
{
    Node *n = &g->nodes.at[root];
    int x = n->in[0];
    Node input = *at(g, x);
    input.name = n->name;
    input.keep = n->keep;
    *n = input;
    pass_remove(g, x);
}

static int fold(Graph *g, int root)
{
    int chain[3], n;
    double s = at(g, root)->scale;
    if (at(g, root)->op != OpScale || at(g, root)->entry == EntryNone)
        return 0;
    if (match_embed(g, root)) {
        scale_weight(g, at(g, root)->in[0], 0, s);
        become_input(g, root);
        return 1;
    }
    n = match_query(g, root, chain);
    if (n == 0)
        return 0;
    for (int i = 0; i < n; i++) {
        Node *x = &g->nodes.at[chain[i]];
        x->name = arena_printf(g->arena, "%s.scaled", x->name);
        if (x->op == OpBias || x->op == OpMatmul)
            scale_weight(g, chain[i], 1, s);
    }
    become_input(g, root);
    return 1;
}

int fold_scale(Graph *g)
{
    return pass_each(g, fold);
}
