/* fuse-attention: one op for what a head does, so that the matrix of scores is
 * never stored.
 *
 *     %5 = scores %2, %3
 *     %6 = scale %5, scale s          (where it was not folded)
 *     %7 = mask %6, causal            (decoder)
 *     %8 = softmax %7           ->    %10 = attention %2, %3, %4, heads h,
 *     %9 = context %8, %4                   scale s, causal
 *     %10 = merge %9
 *
 * needs: nothing.  keeps: the value and name of merge.  breaks: nothing. */
#include "pass.h"

typedef struct { Op op; bool optional; } Step;

static const Step steps[] = {    /* from the merge towards the queries */
    { OpContext, false }, { OpSoftmax, false }, { OpMask, true },
    { OpScale, true }, { OpScores, false },
};
enum { Steps = sizeof steps / sizeof *steps };

/* chain[] gets the node of each step, -1 where an optional one is absent. */
static bool match_chain(const Graph *g, int root, int chain[Steps])
{
    int x = g->nodes.at[root].in[0];
    for (int i = 0; i < Steps; i++) {
        bool there = g->nodes.at[x].op == steps[i].op;
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

static void rewrite(Graph *g, int root, const int chain[Steps])
{
    Node *n = &g->nodes.at[root];
    const Node *context = &g->nodes.at[chain[0]];
    const Node *scores = &g->nodes.at[chain[4]];
    n->op = OpAttention;
    n->nin = 3;
    n->in[0] = scores->in[0];
    n->in[1] = scores->in[1];
    n->in[2] = context->in[1];
    n->heads = context->type.dim[0].c;
    n->mask = chain[2] < 0 ? MaskNone : g->nodes.at[chain[2]].mask;
    n->scale = chain[3] < 0 ? 1 : g->nodes.at[chain[3]].scale;
    for (int i = 0; i < Steps; i++)
        if (chain[i] >= 0)
            pass_remove(g, chain[i]);
}

static int fuse(Graph *g, int root)
{
    int chain[Steps];
    if (g->nodes.at[root].op != OpMerge || !match_chain(g, root, chain))
        return 0;
    rewrite(g, root, chain);
    return 1;
}

int fuse_attention(Graph *g)
{
    return pass_each(g, fuse);
}
