/* build_experts.c: a mixture of experts [Shazeer et al. 2017]. A router, itself
 * a product, chooses a few experts for each row; shared experts process every
 * row. */
#include "graph/build.h"

/* Adds a matrix for each expert, or a bias if `columns` is 0. The weights file
 * has one tensor per expert; {e} in the name stands for its number. */
static int put_experts(Build *b, int64_t rows, int64_t columns,
                       const char *word)
{
    Arena *a = b->g->arena;
    if (columns == 0)
        return put_parts(b, b->s->ffn_experts, rows, 0,
                         arena_printf(a, "experts.%s.bias", word),
                         arena_printf(a, "experts.{e}.%s.bias", word));
    const int node = put_parts(b, b->s->ffn_experts, rows, columns,
                               build_join(b, "experts.", word),
                               arena_printf(a, "experts.{e}.%s.weight", word));
    Node *put = &b->g->nodes.at[node];
    put->readers = ReadByProduct;
    put->type.elem = (Elem)spec_dtype(b->s, put->name, put->readers);
    return node;
}

/* Adds x W^T (+ b), where each row uses its own expert's weights. */
static int multiply_by_experts(Build *b, int x, int64_t out, bool bias,
                               const char *word, int routes)
{
    Node n = { .op = OpLinear, .in = { x, -1, -1, -1, routes }, .nin = 5 };
    n.has_bias = bias;
    n.in[1] = put_experts(b, out, width_of(b, x), word);
    if (n.has_bias)
        n.in[2] = put_experts(b, out, 0, word);
    return put_node(b, n, build_join(b, "experts.", word));
}

/* Adds a product that belongs to the router, not to the network. */
static int routing(Build *b, int x, int64_t out, bool bias, const char *word)
{
    const int first = b->g->nodes.n;
    x = put_linear(b, x, out, bias, word);
    for (int i = first; i < b->g->nodes.n; i++)
        b->g->nodes.at[i].routing = true;
    return x;
}

/* Returns the router's scores: rows with one column per expert. */
static int expert_scores(Build *b, int x)
{
    const Spec *s = b->s;
    b->field = "ffn.experts";
    x = routing(b, x, s->ffn_experts, s->ffn_router_bias, "router");
    b->field = "ffn.softmax";
    switch (s->ffn_softmax) {
    case RouteBefore: return put_unary(b, OpRowSoftmax, x, "router.softmax");
    case RouteSigmoid:
        return put_activation(b, x, ActSigmoid, "router.sigmoid");
    case RouteAfter: break;
    }
    return x;
}

static int choose(Build *b, int x)
{
    const Spec *s = b->s;
    Node n = { .op = OpChoose,
               .in = { x },
               .nin = 1,
               .type = { .dim = { { .c = 0 }, { .c = s->ffn_chosen } } },
               .groups = s->ffn_groups,
               .groups_chosen = s->ffn_groups_chosen,
               .group_pairs = s->ffn_group_score == GroupPair };
    b->field = "ffn.chosen";
    if (s->ffn_correction)
        n.in[n.nin++] = put_weight(b, s->ffn_experts, 0, "correction");
    return put_node(b, n, "chosen");
}

static int weigh(Build *b, int x, int chosen)
{
    const Spec *s = b->s;
    const bool after = s->ffn_softmax == RouteAfter;
    Node n = { .op = OpWeigh,
               .in = { x, chosen },
               .nin = 2,
               .scale = s->ffn_factor,
               .softmax = after,
               .normalize = s->ffn_normalize && !after };
    b->field = "ffn.normalize";
    return put_node(b, n, "shares");
}

/* Adds the experts' feed-forward network. Rows are sorted by expert. */
static int network(Build *b, int x, int routes)
{
    const Spec *s = b->s;
    const char *act = act_text[s->activation].plain;
    int y = multiply_by_experts(b, x, b->side->d_ff, s->bias_ffn, "w1", routes);
    y = put_activation(b, y, s->activation, build_join(b, "experts.", act));
    if (s->gated) {
        int z = multiply_by_experts(b, x, b->side->d_ff, s->bias_ffn, "w3",
                                    routes);
        const Activation other = act_text[s->activation].other;
        z = put_activation(b, z, other,
                           build_join(b, "experts.", act_text[other].plain));
        y = put_binary(b, OpMul, y, z, "experts.gated");
    }
    return multiply_by_experts(b, y, s->d_model, s->bias_w2, "w2", routes);
}

/* Adds the shared experts as one network, as wide as all of them together. */
static int shared(Build *b, int x)
{
    const Spec *s = b->s;
    b->field = "ffn.shared";
    int y = build_dense(b, x, s->ffn_shared, "shared.");
    if (!s->ffn_shared_gate)
        return y;
    b->field = "ffn.shared_gate";
    int by = routing(b, x, 1, false, "shared_gate");
    by = put_activation(b, by, ActSigmoid, "shared_gate.sigmoid");
    return put_binary(b, OpRowScale, y, by, "shared.gated_sum");
}

int build_experts(Build *b, int x)
{
    const Spec *s = b->s;
    const int by = expert_scores(b, x);
    const int chosen = choose(b, by);
    const int shares = weigh(b, by, chosen);
    b->field = "ffn.experts";
    const int routes = put_node(b,
                                (Node){ .op = OpRoutes,
                                        .in = { chosen },
                                        .nin = 1,
                                        .experts = s->ffn_experts },
                                "routes");
    int y = put_binary(b, OpSpread, x, routes, "experts.rows");
    y = network(b, y, routes);
    y = put_node(b,
                 (Node){
                     .op = OpCombine, .in = { y, shares, routes }, .nin = 3 },
                 "experts.sum");
    if (s->ffn_shared < 1)
        return y;
    return put_binary(b, OpAdd, y, shared(b, x), "experts_and_shared");
}
