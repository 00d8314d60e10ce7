/* fuse_norm.c: fuse-norm adds a residual in the norm that follows, so that the
 * rows are read once.
 *
 *     %5 = add %3, %4
 *     %8 = norm %5, %6, %7      ->    %8 = add_norm %3, %4, %6, %7
 *
 * The sum must stay if it has other readers (in a pre-norm layer the next
 * residual reads it); then fuse-epilogue takes it. At the end of a stack the
 * norm is outside the layer, and the sum stays too, so that all layers are
 * alike. A sum with positions is left to the lookup or the product.
 * needs: to run before fuse-epilogue.  keeps: the value and name of norm.
 * breaks: nothing. */
#include "passes/rewrite.h"

static bool match_sum(const Graph *g, int root)
{
    const Node *n = &g->nodes.at[root];
    if (n->op != OpNorm || g->nodes.at[n->in[0]].op != OpAdd)
        return false;
    const Node *sum = &g->nodes.at[n->in[0]];
    if (sum->keep)
        return pass_takes(g, n->in[0], root);
    const char *why = pass_refuses(g, n->in[0]);
    if (!why && !same_part(n, sum))
        why = "is in another layer";
    if (!why && g->nodes.at[sum->in[1]].op == OpPosition)
        why = "goes into what makes its rows";
    if (why)
        pass_note(g, root, "stays apart: %s %s", sum->name, why);
    return !why;
}

static void rewrite_norm(Graph *g, int root)
{
    Node n = g->nodes.at[root];
    int sum = n.in[0];
    n.op = OpAddNorm;
    for (int k = n.nin++; k > 1; k--)
        n.in[k] = n.in[k - 1];
    n.in[1] = g->nodes.at[sum].in[1];
    n.in[0] = g->nodes.at[sum].in[0];
    graph_set(g, root, n);
    graph_remove(g, sum);
}

static int fuse_residual(Graph *g, int root)
{
    if (!match_sum(g, root))
        return 0;
    rewrite_norm(g, root);
    return 1;
}

int fuse_norm(Graph *g)
{
    return pass_each(g, fuse_residual);
}
