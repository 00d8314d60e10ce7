/* table1.c: the numbers of the paper's Table 1 for the first layer of a model:
 * operations, sequential operations, and the longest path between two rows.
 * `kinds` has one row per op. */
#include "graph/graph.h"

typedef struct { /* a node that mixes n rows of d columns */
    const Node *node;
    double n, d;
} Rows;

typedef void MixOf(const Rows *r, Mixing *to);

static double ceiling(double x, double by)
{
    const double whole = (double)(int64_t)(x / by);
    return whole * by < x ? whole + 1 : whole;
}

/* Attention with a window of r rows is Table 1's restricted self-attention. */
static void attention(const Rows *r, Mixing *to)
{
    const MaskSpec *m = r->node->mask;
    const double window = m ? (double)m->window : 0;
    const bool restricted = window > 0 && window < r->n;
    to->complexity = window > 0 ? "r n d" : "n^2 d";
    to->operations = (restricted ? window : r->n) * r->n * r->d;
    to->sequential = 1;
    to->path = restricted ? ceiling(r->n, window) : 1;
}

static void recurrent(const Rows *r, Mixing *to)
{
    to->complexity = "n d^2";
    to->operations = r->n * r->d * r->d;
    to->sequential = to->path = r->n;
}

/* Assumes that kernels are contiguous, or dilated by a factor that grows from
 * layer to layer, as in Table 1. */
static void mix_convolution(const Rows *r, Mixing *to)
{
    const double k = (double)r->node->taps;
    double reach = 1, layers = 0;
    to->complexity = "k n d^2";
    to->operations = k * r->n * r->d * r->d;
    to->sequential = 1;
    for (; reach < r->n && k > 1; reach *= k)
        layers++;
    to->path = r->node->dilation > 1 ? layers : ceiling(r->n, k);
}

/* A separable convolution convolves each column separately, then multiplies. */
static void separable(const Rows *r, Mixing *to)
{
    mix_convolution(r, to);
    to->complexity = "k n d + n d^2";
    to->operations = (double)r->node->taps * r->n * r->d + r->n * r->d * r->d;
}

/* OpMask comes after OpScores and replaces its numbers, because only OpMask
 * knows the window. */
static const struct {
    Op op;
    MixOf *of;
} kinds[] = {
    { OpScores, attention },     { OpMask, attention },
    { OpAttention, attention },  { OpRecurrent, recurrent },
    { OpTaps, mix_convolution }, { OpDepthwise, separable },
};

static void find_kind(const Rows *r, Mixing *to)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].op == r->node->op)
            kinds[i].of(r, to);
}

Mixing layer_mixing(const Graph *g, int64_t rows)
{
    Mixing m = { .complexity = "" };
    const Stack stack = g->spec->side[SideEncoder].N > 0 ? StackEncoder
                                                         : StackDecoder;
    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        const Rows r = { n, (double)rows, (double)g->spec->d_model };
        if (n->stack != stack || n->layer != 0 || n->sublayer == SublayerFfn
            || n->sublayer == SublayerCross)
            continue;
        m.flops += (double)node_flops(g, i, rows, rows);
        find_kind(&r, &m);
    }
    return m;
}
