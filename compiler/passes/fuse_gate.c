/* fuse_gate.c: fuse-gate computes the activation and product of a gated
 * feed-forward network in one op, which reads the rows once.
 *
 *     %5 = activate %3, silu
 *     %6 = mul %5, %4           ->    %6 = gate %3, %4, silu
 *
 * An activation of %4 is fused too if the gated form has that activation.
 *
 * needs: to run before fuse-epilogue.  keeps: the value and name of mul.
 * breaks: nothing.                                                          */
#include "passes/rewrite.h"

/* True if node i is an activation that the gated form applies to its other
 * factor, and only the root reads it. */
static bool is_other(Graph *g, int i, int root, Activation act)
{
    const Node *n = &g->nodes.at[i];
    return n->op == OpActivate && n->act == act_text[act].other
        && pass_takes(g, i, root);
}

static int fuse_product_of_gate(Graph *g, int root)
{
    Node n = g->nodes.at[root];
    const int gate = n.in[0], other = n.in[1];
    if (n.op != OpMul || g->nodes.at[gate].op != OpActivate
        || !pass_takes(g, gate, root))
        return 0;
    n.op = OpGate;
    n.act = g->nodes.at[gate].act;
    n.in[0] = g->nodes.at[gate].in[0];
    const bool both = act_text[n.act].other != ActNone;
    if (both && !is_other(g, other, root, n.act))
        return 0;
    if (both)
        n.in[1] = g->nodes.at[other].in[0];
    graph_set(g, root, n);
    graph_remove(g, gate);
    if (both)
        graph_remove(g, other);
    return 1;
}

int fuse_gate(Graph *g)
{
    return pass_each(g, fuse_product_of_gate);
}
