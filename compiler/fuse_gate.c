/* fuse-gate: the rows of a gated feed-forward network are read once.
 *
 *     %5 = activate %3, silu
 *     %6 = mul %5, %4           ->    %6 = gate %3, %4, silu
 *
 * needs: to run before fuse-epilogue.  keeps: the value and name of mul.
 * breaks: nothing.                                                          */
#include "pass.h"

static int fuse(Graph *g, int root)
{
    Node *n = &g->nodes.at[root];
    if (n->op != OpMul || g->nodes.at[n->in[0]].op != OpActivate
        || !pass_takes(g, n->in[0], root))
        return 0;
    const Node *gate = &g->nodes.at[n->in[0]];
    pass_remove(g, n->in[0]);
    n->op = OpGate;
    n->act = gate->act;
    n->in[0] = gate->in[0];
    return 1;
}

int fuse_gate(Graph *g)
{
    return pass_each(g, fuse);
}
