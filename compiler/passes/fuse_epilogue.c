/* fuse_epilogue.c: fuse-epilogue adds bias, activation and residual to a
 * product while its block is still in registers.
 *
 *     %3 = matmul %0, %1
 *     %4 = bias %3, %2          ->    %4 = linear %0, %1, %2
 *
 *     %5 = activate %4, relu    ->    %5 = linear %0, %1, %2, relu
 *
 *     %6 = add %9, %4           ->    %6 = linear %0, %1, %2, %9
 *
 * It fuses one step at a time; a later root extends the op that an earlier root
 * produced.
 * The residual comes last: act(x W^T + b) + residual.
 * needs: fuse-norm to have taken its sums.  keeps: the value and name of the
 * last node of each chain.  breaks: nothing. */
#include "passes/rewrite.h"

static bool is_product(const Node *n)
{
    return n->op == OpMatmul || (n->op == OpLinear && !n->has_residual);
}

/* Replaces `root` by `linear`, which includes the product that is input k of
 * the root. */
static int absorb(Graph *g, int root, int k, Node linear)
{
    const Node *n = &g->nodes.at[root];
    int product = n->in[k];
    linear.op = OpLinear;
    linear.name = n->name;
    linear.word = n->word;
    linear.pos = n->pos;
    linear.keep = n->keep;
    graph_set(g, root, linear);
    graph_remove(g, product);
    return 1;
}

static int absorb_bias(Graph *g, int root)
{
    const Node *n = &g->nodes.at[root];
    Node p = g->nodes.at[n->in[0]];
    if (p.op != OpMatmul || !pass_takes(g, n->in[0], root))
        return 0;
    p.in[2] = n->in[1];
    p.nin = 3;
    p.has_bias = true;
    return absorb(g, root, 0, p);
}

/* Returns the remark for a residual whose other addend is node x, if its op is
 * not a product but often stands there; otherwise NULL. */
static const char *other_end(const Graph *g, int x)
{
    const Op op = g->nodes.at[x].op;
    if (op == OpNorm || op == OpAddNorm)
        return "stays: its addend is a norm, not a product";
    if (op == OpRecurrent || op == OpJoin)
        return "stays: its addend is a scan, not a product";
    if (op == OpGate || op == OpMul)
        return "stays: its addend is a gate, not a product";
    if (op == OpSlice)
        return "stays: its addend is a column, not a product";
    if (op == OpScaleColumns)
        return "stays: its addend is a learned scale, not a product";
    return op == OpDepthwise
             ? "stays: its addend is a depthwise convolution, not a product"
             : NULL;
}

static int absorb_activation(Graph *g, int root)
{
    const Node *n = &g->nodes.at[root];
    Node p = g->nodes.at[n->in[0]];
    if (other_end(g, n->in[0]))
        pass_note(g, root, "%s", other_end(g, n->in[0]));
    if (p.op == OpScale || p.op == OpSoftcap)
        pass_note(g, root, "stays: a scale or a cap precedes it");
    if (!is_product(&p) || p.act != ActNone || !pass_takes(g, n->in[0], root))
        return 0;
    p.act = n->act;
    return absorb(g, root, 0, p);
}

static bool takes_residual(const Graph *g, int root, int k)
{
    const Node *n = &g->nodes.at[root];
    const Node *p = &g->nodes.at[n->in[k]];
    return n->in[0] != n->in[1] && is_product(p) && same_part(p, n);
}

static int absorb_residual(Graph *g, int root)
{
    const Node *n = &g->nodes.at[root];
    int k = takes_residual(g, root, 1) ? 1 : 0;
    const char *other = other_end(g, n->in[1]);
    if (other)
        pass_note(g, root, "%s", other);
    if (!takes_residual(g, root, k)) {
        if (n->layer >= 0 && !other)
            pass_note(g, root, "stays: no product is free to take it");
        return 0;
    }
    if (!pass_takes(g, n->in[k], root))
        return 0;
    Node p = g->nodes.at[n->in[k]];
    if (!p.has_bias)
        p.in[2] = -1;
    p.in[3] = n->in[1 - k];
    p.nin = 4;
    p.has_residual = true;
    return absorb(g, root, k, p);
}

/* Emits a remark that the cap after a product stays unfused, because only
 * attention has a fused cap. Returns 0. */
static int leave_softcap(const Graph *g, int root)
{
    int x = g->nodes.at[root].in[0];
    if (g->nodes.at[x].op == OpScale)
        x = g->nodes.at[x].in[0];
    if (is_product(&g->nodes.at[x]))
        pass_note(g, root, "stays: products have no cap");
    return 0;
}

static int fuse_product(Graph *g, int root)
{
    switch (g->nodes.at[root].op) {
    case OpBias:     return absorb_bias(g, root);
    case OpActivate: return absorb_activation(g, root);
    case OpAdd:      return absorb_residual(g, root);
    case OpSoftcap:  return leave_softcap(g, root);
    default:         return 0;
    }
}

int fuse_epilogue(Graph *g)
{
    return pass_each(g, fuse_product);
}
