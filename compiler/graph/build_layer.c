/* build_layer.c: the layers of a stack, with the paper's operations in the
 * paper's order. A layer is a list of sublayers; a sublayer maps rows to rows,
 * with a residual and norms around it. No other file depends on this
 * structure. */
#include <math.h>

#include "graph/build.h"

/* ---- attention, section 3.2 ---- */

typedef enum { Wq, Wk, Wv, Wo } Projection;

static const char *const projection[] = {
    [Wq] = "q",
    [Wk] = "k",
    [Wv] = "v",
    [Wo] = "o",
};

/* True if queries or keys are clipped after their norms, not before them. */
static bool clips_norm(const Build *b, Projection which)
{
    return (which == Wq || which == Wk) && b->sublayer == SublayerSelf
        && b->s->attention_clip_norms && b->s->norm_qk != QkNone;
}

/* Adds one projection of attention. In a model of `kind: attention`, a missing
 * projection is the identity. Queries, keys and values are clipped even if they
 * are not projected. */
static int project(Build *b, int x, Projection which)
{
    const Spec *s = b->s;
    const SpecSide *side = b->side;
    const struct {
        int64_t out;
        bool has, bias;
    } p[] = {
        [Wq] = { side->h * side->d_k, s->has_q, s->bias_q },
        [Wk] = { side->h_kv * side->d_k, s->has_k, s->bias_k },
        [Wv] = { side->h_kv * side->d_v, s->has_v, s->bias_v },
        [Wo] = { s->d_model, s->has_o, s->bias_o },
    };
    b->field = "h";
    if (s->kind != KindAttention || p[which].has)
        x = put_linear(b, x, p[which].out, p[which].bias, projection[which]);
    return which == Wo || clips_norm(b, which)
             ? x
             : put_clipped(b, x, projection[which]);
}

static int64_t heads_of(const Build *b, Projection which)
{
    return which == Wq ? b->side->h : b->side->h_kv;
}

static int split(Build *b, int x, Projection which)
{
    Node n = {
        .op = OpSplit, .in = { x }, .nin = 1, .heads = heads_of(b, which)
    };
    return put_node(b, n, build_join(b, projection[which], ".heads"));
}

static int norm_heads(Build *b, int x, Projection which)
{
    const NormQk qk = b->s->norm_qk;
    const char *word = build_join(b, projection[which], "_norm");
    if (qk == QkNone)
        return x;
    x = qk == QkWidth
          ? put_norm(b, x, word)
          : put_head_norm(b, x, heads_of(b, which), qk == QkEach, word);
    return clips_norm(b, which) ? put_clipped(b, x, word) : x;
}

/* Adds the norms and rotation of self-attention's queries or keys. */
static int prepare_heads(Build *b, int x, Projection which)
{
    const int part = which == Wq ? PartQuery : PartKey;
    const bool rotated = b->s->norm_qk_rotated;
    if (!rotated)
        x = norm_heads(b, x, which);
    x = put_turned(b, x, heads_of(b, which), part, projection[which]);
    return rotated ? norm_heads(b, x, which) : x;
}

/* Adds the layer to the cache for its keys and values, and returns that cache.
 * Layers whose cached rows have another shape use another cache. */
static int add_layer_to_cache(Build *b, int of)
{
    Graph *g = b->g;
    const Cache own = { .of = of, .form = spec_cache(b->s, of == CacheSelf) };
    int c = of;

    while (c < g->caches && g->cache[c].layers > 0
           && !(g->cache[c].of == of && same_cache(g->cache[c].form, own.form)))
        c = c > CacheCross ? c + 1 : CacheCross + 1;
    if (c == g->caches)
        g->caches++;
    if (g->cache[c].layers == 0)
        g->cache[c] = own;
    g->cache[c].layers++;
    return c;
}

/* Appends the keys and values of new rows to a cache. */
static void append(Build *b, int of, int *k, int *v)
{
    Node n = { .op = OpAppend, .nin = 1, .cache = add_layer_to_cache(b, of) };
    n.place = b->g->cache[n.cache].layers - 1;
    n.in[0] = *k;
    n.part = PartKey;
    *k = put_node(b, n, "k.append");
    n.in[0] = *v;
    n.part = PartValue;
    *v = put_node(b, n, "v.append");
}

static int recall(Build *b, int part)
{
    const int x = b->cross[part][b->layer];
    const Node *from = &b->g->nodes.at[x];
    const Node n = { .op = OpRecall,
                     .in = { x },
                     .nin = 1,
                     .cache = from->cache,
                     .place = from->place,
                     .part = part };
    return put_node(b, n, part == PartKey ? "k.recall" : "v.recall");
}

/* Adds the position scheme's bias to the scores of self-attention. */
static int score_bias(Build *b, int x)
{
    const Spec *s = b->s;
    Node n = { .op = OpScoreBias,
               .in = { x },
               .nin = 1,
               .heads = b->side->h, /* the slopes depend on the number of
                                     * heads */
               .bias = spec_score_bias(s) };
    b->field = s->pos_scores ? "positions.scores" : "positions.type";
    if (n.bias == BiasAlibi)
        n.slope = s->positions == PosAlibi ? s->scaling.step : 1;
    if (n.bias == BiasRelative) {
        n.in[n.nin++] = put_biases(b);
        n.buckets = s->pos_buckets;
        n.max_distance = s->pos_max_distance;
        n.bidirectional = !b->side->mask.causal;
    }
    return n.bias == BiasNone ? x : put_node(b, n, "biased_scores");
}

static bool masks(const MaskSpec *m)
{
    return m->causal || m->window > 0 || m->block > 0 || m->file;
}

static int mask(Build *b, int x)
{
    Node n = { .op = OpMask, .in = { x }, .nin = 1, .mask = &b->side->mask };
    if (spec_hides_fill(b->s)) {
        MaskSpec *m = arena_alloc(b->g->arena, sizeof *m);
        *m = b->side->mask;
        m->given = true;
        n.mask = m;
    } else if (!masks(&b->side->mask)) {
        return x;
    }
    return put_node(b, n, "masked_scores");
}

static int scores(Build *b, int q, int k)
{
    Node n = {
        .op = OpScores, .in = { q, k }, .nin = 2, .score = b->s->attention_score
    };
    if (has_score_vector(&n)) {
        b->field = "attention.score";
        n.in[n.nin++] = put_weight(b, b->side->h, b->side->d_k, "score");
    }
    return put_node(b, n, "scores");
}

/* Returns the factor by which scores are multiplied. */
static double factor(const Build *b)
{
    const Spec *s = b->s;
    if (s->attention_scale > 0 || score_form[s->attention_score].vector)
        return s->attention_scale > 0 ? s->attention_scale : 1;
    return 1 / sqrt((double)b->side->d_k);
}

/* Turns scores into weights. In self-attention each head may have a sink: a
 * learned score that receives weight but has no value. */
static int weights(Build *b, int x, bool self)
{
    Node n = { .op = normalizer_op[b->s->attention_normalizer],
               .in = { x },
               .nin = 1 };
    if (n.op == OpSoftmax && self && b->s->attention_sinks) {
        b->field = "attention.sinks";
        n.in[n.nin++] = put_weight(b, b->side->h, 0, "sinks");
        n.sinks = true;
    }
    return put_node(b, n, "weights");
}

/* Adds the product of the concatenated heads and W^O. Only self-attention has a
 * position bias and a mask. */
static int attend(Build *b, int q, int k, int v, bool self)
{
    b->field = "h";
    int x = put_scale(b, scores(b, q, k), factor(b), "scaled_scores");
    x = put_softcap(b, x, b->s->attention_softcap, "capped_scores");
    if (self)
        x = mask(b, score_bias(b, x));
    b->field = "h";
    x = weights(b, x, self);
    x = put_binary(b, OpContext, x, v, "heads");
    x = put_unary(b, OpMerge, x, "concat");
    return project(b, x, Wo);
}

/* Projects rows to the queries, keys and values of self-attention. */
static Heads make_rows(Build *b, const int x[3])
{
    if (b->s->latent_kv > 0)
        return build_latent(b, x[0]);
    Heads y;
    y.q = project(b, x[0], Wq);
    y.k = project(b, x[1], Wk);
    y.v = project(b, x[2], Wv);
    y.q = prepare_heads(b, y.q, Wq);
    y.k = prepare_heads(b, y.k, Wk);
    return y;
}

int build_heads(Build *b, const int x[3])
{
    const Heads rows = make_rows(b, x);
    int q = split(b, rows.q, Wq);
    int k = split(b, rows.k, Wk);
    int v = split(b, rows.v, Wv);
    if (b->entry == EntryDecode)
        append(b, CacheSelf, &k, &v);
    return attend(b, q, k, v, true);
}

static int self_attention(Build *b, int x)
{
    return build_heads(b, (int[]){ x, x, x });
}

static int cross_attention(Build *b, int x)
{
    int q = split(b, project(b, x, Wq), Wq);
    int k = recall(b, PartKey), v = recall(b, PartValue);
    return attend(b, q, k, v, false);
}

/* By Spec.mix: the sublayer that mixes the rows of a sequence, and its
 * builder. */
static const struct {
    Sublayer sublayer;
    int (*rows)(Build *b, int x);
} mixers[] = {
    [MixAttention] = { SublayerSelf, self_attention },
    [MixRecurrent] = { SublayerRecurrent, build_recurrent },
    [MixConvolution] = { SublayerConvolution, build_convolution },
};

static int mix(Build *b, int x)
{
    b->sublayer = mixers[b->s->mix].sublayer;
    return mixers[b->s->mix].rows(b, x);
}

/* ---- feed-forward networks, section 3.3 ---- */

static int dense(Build *b, int x)
{
    b->field = "d_ff";
    return build_dense(b, x, b->side->d_ff, "");
}

typedef int SublayerRows(Build *b, int x);

/* By Spec.ffn: builds the network that processes each row separately; NULL:
 * none. */
static SublayerRows *const ffns[] = {
    [FfnDense] = dense,
    [FfnNone] = NULL,
    [FfnExperts] = build_experts,
};

static int feed_forward(Build *b, int x)
{
    return ffns[b->s->ffn](b, x);
}

/* ---- layers, section 3.1 ---- */

/* A part of a layer, with the names of its norm and its learned residual scale.
 * SublayerNone: `f` sets the sublayer. */
typedef struct {
    SublayerRows *f;
    Sublayer sublayer;
    const char *norm, *scale;
} LayerPart;

static const LayerPart layer_parts[] = {
    { mix, SublayerNone, "norm1", "scale1" },
    { cross_attention, SublayerCross, "norm3", "scale3" },
    { feed_forward, SublayerFfn, "norm2", "scale2" },
};
enum { LayerParts = sizeof layer_parts / sizeof *layer_parts };

static bool has_part(const Build *b, const LayerPart *part)
{
    if (part->f == cross_attention)
        return b->entry == EntryDecode && b->cross[PartKey]
            && b->cross[PartKey][b->layer] >= 0;
    return part->f != feed_forward || ffns[b->s->ffn];
}

static bool has_norm(const Spec *s, const LayerPart *part)
{
    return part->f == feed_forward ? s->norm_ffn : s->norm_attention;
}

/* By Spec.norm_place: true if a norm is applied to the input of f, to its
 * output, or to the sum with the residual. */
static const struct {
    bool before, output, sum;
} places[] = {
    [PlacePost] = { .sum = true },
    [PlacePre] = { .before = true },
    [PlaceInside] = { .output = true },
    [PlaceBoth] = { .before = true, .output = true },
};

/* Returns x + s (g * y), where s is the spec's factor and g a learned scale, or
 * y if the model has no residuals. */
static int residual(Build *b, int x, int y, const LayerPart *part)
{
    const Spec *s = b->s;
    if (s->residual == ResidualNone)
        return y;
    if (s->residual_learned != LearnNone) {
        const int64_t n = s->residual_learned == LearnScalar ? 1 : s->d_model;
        const Sublayer in = b->sublayer;
        b->sublayer = SublayerNone; /* the scale belongs to the layer, like its
                                     * norms */
        y = put_binary(b, OpScaleColumns, y, put_weight(b, n, 0, part->scale),
                       build_join(b, part->scale, ".rows"));
        b->sublayer = in;
    }
    y = put_scale(b, y, s->residual_scale,
                  build_join(b, part->scale, ".factor"));
    return put_binary(b, OpAdd, x, y, "residual");
}

/* Adds x + f(y), or x + norm(f(y)). The norm's name ends in "_after" if another
 * norm precedes f. */
static int sublayer(Build *b, int x, int y, const LayerPart *part)
{
    const NormPlace place = b->s->norm_place;
    b->sublayer = part->sublayer;
    y = part->f(b, y);
    const Sublayer in = b->sublayer;
    b->sublayer = SublayerNone;
    if (places[place].output && has_norm(b->s, part))
        y = put_norm(b, y,
                     places[place].before ? build_join(b, part->norm, "_after")
                                          : part->norm);
    b->sublayer = in;
    y = residual(b, x, y, part);
    b->sublayer = SublayerNone;
    return y;
}

/* Adds one layer. In a parallel layer all parts read the layer's input and may
 * share its norm; in other layers each part reads the sum of the parts before
 * it. */
static int layer(Build *b, int x)
{
    const Spec *s = b->s;
    int first = x, normed = -1;
    for (int i = 0; i < LayerParts; i++) {
        const LayerPart *part = &layer_parts[i];
        if (!has_part(b, part))
            continue;
        int y = s->parallel == ParallelNone ? x : first;
        if (places[s->norm_place].before && has_norm(s, part))
            y = s->parallel == ParallelShared && normed >= 0
                  ? normed
                  : (normed = put_norm(b, y, part->norm));
        const int before = x;
        x = sublayer(b, x, y, part);
        if (places[s->norm_place].sum && has_norm(s, part))
            x = put_norm(b, x, part->norm);
        if (s->norm_again && part->f == mix)
            x = put_norm(b, put_binary(b, OpAdd, before, x, "residual_again"),
                         "norm1_after");
    }
    return x;
}

/* Places later nodes in layer i, with that layer's spec; -1: outside the
 * layers. */
static void enter_layer(Build *b, const Spec *all, Side side, int i)
{
    b->layer = i;
    b->s = i < 0 ? all : spec_layer(all, side, i);
    b->side = &b->s->side[side];
}

int build_layers(Build *b, int x)
{
    const Spec *all = b->s;
    const Side side = (Side)(b->side - all->side);
    b->tables.n = 0;
    for (int i = 0; i < all->side[side].N; i++) {
        enter_layer(b, all, side, i);
        x = layer(b, x);
    }
    enter_layer(b, all, side, -1);
    build_enter(b, b->entry, b->stack);
    b->outside_layers = true;
    if (b->s->norm_final)
        x = put_norm(b, x, "norm");
    b->outside_layers = false;
    return x;
}

void append_memory(Build *b, int memory)
{
    b->side = &b->s->side[SideDecoder];
    size_t bytes = (size_t)b->side->N * sizeof(int);
    build_enter(b, EntryEncode, StackCross);
    b->sublayer = SublayerCross;
    for (int part = PartKey; part <= PartValue; part++)
        b->cross[part] = arena_alloc(b->g->arena, bytes);
    const Spec *all = b->s;
    for (int i = 0; i < all->side[SideDecoder].N; i++) {
        enter_layer(b, all, SideDecoder, i);
        b->cross[PartKey][i] = b->cross[PartValue][i] = -1;
        if (!b->s->attention_cross)
            continue;
        int k = project(b, memory, Wk);
        int v = project(b, memory, Wv);
        k = split(b, k, Wk);
        v = split(b, v, Wv);
        append(b, CacheCross, &k, &v);
        b->cross[PartKey][i] = k;
        b->cross[PartValue][i] = v;
    }
    enter_layer(b, all, SideDecoder, -1);
}
