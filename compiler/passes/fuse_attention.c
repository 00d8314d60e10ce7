/* fuse_attention.c: fuse-attention turns the ops of attention into one, so that
 * the matrix of scores is never stored.
 *
 *     %5 = scores %2, %3
 *     %6 = scale %5, scale s          (if it was not folded)
 *     %7 = softcap %6                 (if the spec asks for it)
 *     %9 = score_bias %7, %8          (alibi or relative positions)
 *     %10 = mask %9, causal           (decoder)
 *     %11 = softmax %10         ->    %13 = attention %2, %3, %4, %8, heads h,
 *     %12 = context %11, %4                 scale s, cap c, relative, causal
 *     %13 = merge %12
 *
 * Softmax may be any other normalizer.
 * needs: nothing.  keeps: the value and name of merge.  breaks: nothing. */
#include "passes/rewrite.h"

typedef struct {
    Op op;
    bool optional;
} Step;

/* The steps of attention, from the merge back to the queries. */
enum { Context, Weights, Mask, Bias, Cap, Factor, Score, Steps };
static const Step steps[Steps] = {
    [Context] = { OpContext, false }, [Weights] = { OpSoftmax, false },
    [Mask] = { OpMask, true },        [Bias] = { OpScoreBias, true },
    [Cap] = { OpSoftcap, true },      [Factor] = { OpScale, true },
    [Score] = { OpScores, false },
};

/* Stores the node of each step in chain[]; -1: an optional step is absent. */
static bool match_chain(const Graph *g, int root, int chain[Steps])
{
    int x = g->nodes.at[root].in[0];
    for (int i = 0; i < Steps; i++) {
        const Op op = g->nodes.at[x].op;
        const bool there = op == steps[i].op
                        || (i == Weights && normalizer_of(op) >= 0);
        chain[i] = there ? x : -1;
        if (!there && steps[i].optional)
            continue;
        if (!there) {
            pass_missed(g, root, "is not attention: %s where %s should be",
                        op_info[g->nodes.at[x].op].name,
                        op_info[steps[i].op].name);
            return false;
        }
        if (!pass_takes(g, x, root))
            return false;
        x = g->nodes.at[x].in[0];
    }
    return true;
}

static void take_bias(Node *n, const Node *bias)
{
    n->bias = bias->bias;
    n->slope = bias->slope;
    n->buckets = bias->buckets;
    n->max_distance = bias->max_distance;
    n->bidirectional = bias->bidirectional;
    for (int k = 1; k < bias->nin; k++)
        n->in[n->nin++] = bias->in[k];
}

static void rewrite(Graph *g, int root, const int chain[Steps])
{
    Node n = g->nodes.at[root];
    const Node *context = &g->nodes.at[chain[Context]];
    const Node *scores = &g->nodes.at[chain[Score]];
    n.op = OpAttention;
    n.nin = 3;
    n.in[0] = scores->in[0];
    n.in[1] = scores->in[1];
    n.in[2] = context->in[1];
    n.heads = context->type.dim[0].c;
    n.heads_kv = g->nodes.at[n.in[1]].type.dim[0].c;
    n.mask = chain[Mask] < 0 ? NULL : g->nodes.at[chain[Mask]].mask;
    n.cap = chain[Cap] < 0 ? 0 : g->nodes.at[chain[Cap]].cap;
    const Node *weights = &g->nodes.at[chain[Weights]];
    n.scale = chain[Factor] < 0 ? 1 : g->nodes.at[chain[Factor]].scale;
    if (chain[Bias] >= 0)
        take_bias(&n, &g->nodes.at[chain[Bias]]);
    n.score = scores->score;
    if (has_score_vector(&n))
        n.in[n.nin++] = score_input(scores);
    n.normalizer = (Normalizer)normalizer_of(weights->op);
    n.sinks = weights->sinks;
    if (n.sinks)
        n.in[n.nin++] = weights->in[1];
    graph_set(g, root, n);
    for (int i = 0; i < Steps; i++)
        if (chain[i] >= 0)
            graph_remove(g, chain[i]);
}

static int fuse_heads(Graph *g, int root)
{
    int chain[Steps];
    if (g->nodes.at[root].op != OpMerge || !match_chain(g, root, chain))
        return 0;
    rewrite(g, root, chain);
    return 1;
}

int fuse_attention(Graph *g)
{
    return pass_each(g, fuse_heads);
}
