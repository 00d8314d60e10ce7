/* fuse-gate: the rows of a gated feed-forward network are read once.
 *
 *     %5 = activate %3, silu
 *     %6 = mul %5, %4           ->    %6 = gate %3, %4, silu
 *
 * needs: to run before fuse-epilogue.  keeps: the value and name of mul.
 * breaks: nothing.                                                          */
#include "passes/rewrite.h"

static int fuse(Graph *g, int root)
{
    Node n = g->nodes.at[root];
    int gate = n.in[0];
    if (n.op != OpMul || g->nodes.at[gate].op != OpActivate
        || !pass_takes(g, gate, root))
        return 0;
    n.op = OpGate;
    n.act = g->nodes.at[gate].act;
    n.in[0] = g->nodes.at[gate].in[0];
    graph_set(g, root, n);
    graph_remove(g, gate);
    return 1;
}

int fuse_gate(Graph *g)
{
    return pass_each(g, fuse);
}
