/* fold_scale.c: fold-scale moves a constant factor into weights, so that it
 * costs nothing at run time.
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
 * On its way from the scores to a weight the factor passes through rotary
 * embeddings and into both inputs of a join. A norm of the queries stops it:
 * gamma and beta take the factor. A factor of the logits goes into their
 * weight, one of a residual into the weights before it. Two kinds of weight are
 * not scaled: one with several readers, and one in bf16 unless the factor is a
 * power of 2, because other factors would round it again. Integer weights have
 * a scale per column, which takes any factor.
 *
 * needs: nothing.  keeps: values of all but the scaled chain, whose nodes get
 * new names.  breaks: nothing. */
#include "passes/rewrite.h"

#include <math.h>

static const Node *at(const Graph *g, int node)
{
    return &g->nodes.at[node];
}

static bool is_power_of_2(double s)
{
    int exponent;
    const double half = frexp(fabs(s), &exponent);
    return half >= 0.5 && half <= 0.5;
}

static bool folds_into(const Graph *g, int weight, int root)
{
    const Node *w = at(g, weight);
    if (w->entry != EntryNone)
        return false;
    if (graph_uses(g, weight) != 1) {
        pass_note(g, root, "stays at the reader: %s has several readers",
                  w->name);
        return false;
    }
    /* integer weights pass, because their scales take any factor */
    if (w->type.elem == ElemBf16 && !is_power_of_2(at(g, root)->scale)) {
        pass_note(g, root,
                  "stays at the reader: %s is bf16 and would be "
                  "rounded again",
                  w->name);
        return false;
    }
    return true;
}

/* Nodes that the factor passes between the root and the weights. */
typedef struct {
    int n, node[12];
} Chain;

/* True if all inputs of `node` except the first can take the factor. */
static bool takes_factor(const Graph *g, int node, int root)
{
    for (int k = 1; k < at(g, node)->nin; k++)
        if (!folds_into(g, at(g, node)->in[k], root))
            return false;
    return true;
}

static bool pass_through(const Graph *g, Chain *c, int *x, int root)
{
    if (!pass_takes(g, *x, root))
        return false;
    c->node[c->n++] = *x;
    *x = at(g, *x)->in[0];
    return true;
}

/* True for ops with one weight per column, which can take a factor. */
static bool has_columns(const Graph *g, int x)
{
    return at(g, x)->op == OpHeadNorm || at(g, x)->op == OpNorm
        || at(g, x)->op == OpScaleColumns;
}

/* Matches [rotate] <- norm, or [rotate] <- [bias] <- matmul; for a join, in
 * both inputs. Returns false if x is not a projection, or if one of its weights
 * cannot take the factor. */
static bool match_product(const Graph *g, Chain *c, int x, int root)
{
    if (at(g, x)->op == OpJoin) {
        const int other = at(g, x)->in[1];
        return pass_through(g, c, &x, root) && match_product(g, c, x, root)
            && match_product(g, c, other, root);
    }
    if (at(g, x)->op == OpRotate && !pass_through(g, c, &x, root))
        return false;
    if (has_columns(g, x))
        return takes_factor(g, x, root) && pass_through(g, c, &x, root);
    if (at(g, x)->op == OpBias
        && !(takes_factor(g, x, root) && pass_through(g, c, &x, root)))
        return false;
    if (at(g, x)->op != OpMatmul) {
        pass_note(g, root, "stays: the query %s",
                  at(g, x)->op == OpClip ? "is clipped" : "has no projection");
        return false;
    }
    return takes_factor(g, x, root) && pass_through(g, c, &x, root);
}

/* Matches the path from a scale down to the weights that can take it: through
 * scores to the query's projection, or directly to a product or a norm. */
static bool match_scale(const Graph *g, Chain *c, int root)
{
    int x = at(g, root)->in[0];
    if (at(g, x)->op == OpBias || at(g, x)->op == OpMatmul || has_columns(g, x))
        return match_product(g, c, x, root);
    if (at(g, x)->op != OpScores) {
        if (at(g, x)->op != OpEmbed)
            pass_note(g, root, "stays: %s has no weights to take it",
                      at(g, x)->name);
        return false;
    }
    if (has_score_vector(at(g, x))) /* such scores are linear in v only */
        return folds_into(g, at(g, x)->in[2], root)
            && pass_through(g, c, &x, root);
    return pass_through(g, c, &x, root) && at(g, x)->op == OpSplit
        && pass_through(g, c, &x, root) && match_product(g, c, x, root);
}

static bool match_embed(const Graph *g, int root)
{
    int x = at(g, root)->in[0];
    return at(g, x)->op == OpEmbed && pass_takes(g, x, root)
        && folds_into(g, at(g, x)->in[0], root);
}

/* Multiplies the weight at in[k] of `reader` by s. */
static void scale_weight(Graph *g, int reader, int k, double s)
{
    int weight = at(g, reader)->in[k];
    Node n = *at(g, weight);
    n.op = OpScale;
    n.in[0] = weight;
    n.nin = 1;
    n.scale = s;
    graph_rename(g, &n, ".scaled");
    graph_link(g, reader, k, graph_add(g, n));
}

/* Replaces the root by its input, and gives the input the root's name. */
static void become_input(Graph *g, int root)
{
    const Node *n = at(g, root);
    int x = n->in[0];
    Node input = *at(g, x);
    input.name = n->name;
    input.word = n->word;
    input.keep = n->keep;
    graph_set(g, root, input);
    graph_remove(g, x);
}

/* Scales the weights of all nodes in the chain, and renames the nodes. */
static void scale_chain(Graph *g, const Chain *c, double s)
{
    for (int i = 0; i < c->n; i++) {
        int node = c->node[i];
        graph_rename(g, &g->nodes.at[node], ".scaled");
        bool weighs = at(g, node)->op == OpBias || at(g, node)->op == OpMatmul
                   || has_columns(g, node);
        for (int k = 1; weighs && k < at(g, node)->nin; k++)
            scale_weight(g, node, k, s);
        if (has_score_vector(at(g, node)))
            scale_weight(g, node, 2, s);
    }
}

static int fold(Graph *g, int root)
{
    Chain c = { 0 };
    double s = at(g, root)->scale;
    if (at(g, root)->op != OpScale || at(g, root)->entry == EntryNone)
        return 0;
    if (match_embed(g, root))
        scale_weight(g, at(g, root)->in[0], 0, s);
    else if (match_scale(g, &c, root))
        scale_chain(g, &c, s);
    else
        return 0;
    become_input(g, root);
    return 1;
}

int fold_scale(Graph *g)
{
    return pass_each(g, fold);
}
