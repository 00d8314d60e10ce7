/* build.c: Spec -> Graph, in the paper's own operations and in its order. The
 * only file that knows what a Transformer layer is. A model is one or two
 * stacks of layers; a layer is a row of sublayers; a sublayer is a function
 * from rows to rows, with a residual and a norm around it.                  */
#include <math.h>

#include "compiler.h"

typedef struct {                 /* where the next nodes belong */
    Graph *g;
    const Spec *s;
    Entry entry;
    const char *stack;
    int layer;
    const char *prefix;          /* of names: "encoder.0.self_attn." */
    const char *field;           /* of the spec, for Node.pos */
    const SpecSide *side;        /* of the spec, of this stack */
    int tied;                    /* the tied table; -1: not there yet */
    int *cross[2];               /* by part, by decoder layer: the Append */
} Build;

typedef int Sublayer(Build *b, int x);

static int put(Build *b, Node n, const char *name)
{
    n.entry = op_info[n.op].class == ClassConst ? EntryNone : b->entry;
    n.stack = b->stack;
    n.layer = b->layer;
    n.name = arena_printf(b->g->arena, "%s%s", b->prefix, name);
    n.pos = spec_pos(b->s, b->field);
    return graph_add(b->g, n);
}

static int unary(Build *b, Op op, int x, const char *name)
{
    return put(b, (Node){ .op = op, .in = { x }, .nin = 1 }, name);
}

static int binary(Build *b, Op op, int x, int y, const char *name)
{
    return put(b, (Node){ .op = op, .in = { x, y }, .nin = 2 }, name);
}

static int scale(Build *b, int x, double by, const char *name)
{
    return put(b, (Node){ .op = OpScale, .in = { x }, .nin = 1, .scale = by },
               name);
}

/* [rows, columns], or [rows] where columns is 0. */
static int constant(Build *b, Op op, int64_t rows, int64_t columns,
                    const char *name)
{
    Type t = { ElemF32, columns > 0 ? 2 : 1,
               { { rows, SymNone }, { columns, SymNone } } };
    return put(b, (Node){ .op = op, .type = t }, name);
}

static char *join(Build *b, const char *head, const char *tail)
{
    return arena_printf(b->g->arena, "%s%s", head, tail);
}

static int64_t width(const Build *b, int x)
{
    Type t = b->g->nodes.at[x].type;
    return t.dim[t.rank - 1].c;
}

/* x W^T, and + b where there is a bias. The result has the given name. */
static int linear(Build *b, int x, int64_t out, bool bias, const char *name)
{
    int w = constant(b, OpWeight, out, width(b, x), join(b, name, ".weight"));
    if (!bias)
        return binary(b, OpMatmul, x, w, name);
    int y = binary(b, OpMatmul, x, w, join(b, name, ".matmul"));
    int v = constant(b, OpWeight, out, 0, join(b, name, ".bias"));
    return binary(b, OpBias, y, v, name);
}

static int norm(Build *b, int x, const char *name)
{
    b->field = "norm.place";
    int gamma = constant(b, OpWeight, width(b, x), 0,
                         join(b, name, ".weight"));
    int beta = constant(b, OpWeight, width(b, x), 0, join(b, name, ".bias"));
    return put(b, (Node){ .op = OpNorm, .in = { x, gamma, beta }, .nin = 3,
                          .eps = b->s->norm_eps }, name);
}

/* -------------------------------------------------- attention, section 3.2 */

typedef enum { Wq, Wk, Wv, Wo } Projection;

/* An absent projection (kind attention only) is the identity. */
static int project(Build *b, int x, Projection which)
{
    const Spec *s = b->s;
    const SpecSide *side = b->side;
    const struct { const char *name; int64_t out; bool has, bias; } p[] = {
        [Wq] = { "q", side->h * side->d_k, s->has_q, s->bias_q },
        [Wk] = { "k", side->h * side->d_k, s->has_k, s->bias_k },
        [Wv] = { "v", side->h * side->d_v, s->has_v, s->bias_v },
        [Wo] = { "o", s->d_model,    s->has_o, s->bias_o },
    };
    b->field = "h";
    if (s->kind == KindAttention && !p[which].has)
        return x;
    return linear(b, x, p[which].out, p[which].bias, p[which].name);
}

static int split(Build *b, int x, const char *name)
{
    return put(b, (Node){ .op = OpSplit, .in = { x }, .nin = 1,
                          .heads = b->side->h }, name);
}

/* Append or Recall of keys or values. */
static int state(Build *b, Op op, int x, int cache, int part)
{
    const char *name = arena_printf(b->g->arena, "%s.%s",
                                    part == PartKey ? "k" : "v",
                                    op == OpAppend ? "append" : "recall");
    return put(b, (Node){ .op = op, .in = { x }, .nin = 1, .cache = cache,
                          .part = part }, name);
}

/* Concat(head_1 .. head_h) W^O of the heads q, k, v. */
static int attend(Build *b, int q, int k, int v, MaskKind mask)
{
    double by = 1 / sqrt((double)b->side->d_k);
    int x = scale(b, binary(b, OpScores, q, k, "scores"), by,
                  "scaled_scores");
    if (mask == MaskCausal)
        x = put(b, (Node){ .op = OpMask, .in = { x }, .nin = 1,
                           .mask = mask }, "masked_scores");
    x = unary(b, OpSoftmax, x, "weights");
    x = binary(b, OpContext, x, v, "heads");
    x = unary(b, OpMerge, x, "concat");
    return project(b, x, Wo);
}

static int self_attention(Build *b, int x)
{
    int q = project(b, x, Wq);
    int k = project(b, x, Wk);
    int v = project(b, x, Wv);
    q = split(b, q, "q.heads");
    k = split(b, k, "k.heads");
    v = split(b, v, "v.heads");
    if (b->entry == EntryDecode) {
        k = state(b, OpAppend, k, CacheSelf, PartKey);
        v = state(b, OpAppend, v, CacheSelf, PartValue);
    }
    return attend(b, q, k, v, b->side->mask.causal ? MaskCausal : MaskNone);
}

static int cross_attention(Build *b, int x)
{
    int q = split(b, project(b, x, Wq), "q.heads");
    int k = state(b, OpRecall, b->cross[PartKey][b->layer], CacheCross,
                  PartKey);
    int v = state(b, OpRecall, b->cross[PartValue][b->layer], CacheCross,
                  PartValue);
    return attend(b, q, k, v, MaskNone);
}

static int feed_forward(Build *b, int x)
{
    const Spec *s = b->s;
    b->field = "d_ff";
    int y = linear(b, x, b->side->d_ff, s->bias_ffn, "w1");
    if (s->activation == ActRelu)
        y = unary(b, OpRelu, y, "relu");
    return linear(b, y, s->d_model, s->bias_ffn, "w2");
}

/* --------------------------------------------------- layers, section 3.1 */

typedef struct {                 /* a sublayer, and the norm that is its own */
    Sublayer *f;
    const char *name, *norm;
} LayerPart;

static const LayerPart layer_parts[] = {
    { self_attention,  "self_attn",  "norm1" },
    { cross_attention, "cross_attn", "norm3" },   /* decoder with an encoder */
    { feed_forward,    "ffn",        "norm2" },
};
enum { LayerParts = sizeof layer_parts / sizeof *layer_parts };

/* post: LayerNorm(x + f(x)); pre: x + f(LayerNorm(x)). */
static int sublayer(Build *b, int x, const LayerPart *part)
{
    bool pre = b->s->norm_place == PlacePre;
    const char *outer = b->prefix;
    int y = pre ? norm(b, x, part->norm) : x;
    b->prefix = arena_printf(b->g->arena, "%s%s.", outer, part->name);
    y = part->f(b, y);
    y = binary(b, OpAdd, x, y, "residual");
    b->prefix = outer;
    return pre ? y : norm(b, y, part->norm);
}

static int layer(Build *b, int x)
{
    bool cross = b->entry == EntryDecode && b->cross[PartKey];
    for (int i = 0; i < LayerParts; i++)
        if (cross || layer_parts[i].f != cross_attention)
            x = sublayer(b, x, &layer_parts[i]);
    return x;
}

/* Later nodes are in the named stack and entry, outside of its layers. */
static void enter(Build *b, Entry entry, const char *stack)
{
    b->entry = entry;
    b->stack = stack;
    b->layer = -1;
    b->prefix = "";
}

static void enter_layer(Build *b, const char *prefix, int i)
{
    b->layer = i;
    b->prefix = arena_printf(b->g->arena, "%s.%d.", prefix, i);
}

static int layers(Build *b, int x, int64_t count)
{
    const char *stack = b->stack;
    for (int i = 0; i < count; i++) {
        enter_layer(b, stack, i);
        x = layer(b, x);
    }
    enter(b, b->entry, stack);
    if (b->s->norm_final)
        x = norm(b, x, join(b, stack, ".norm"));
    return x;
}

/* ------------------------------------------------------------ both ends */

/* The table of a side; tied sides have one between them. */
static int table(Build *b, int tie, int64_t rows, const char *name)
{
    int tied = b->s->embed_tie & tie ? b->s->embed_tie : 0;
    b->field = "embedding.tie";
    if (!(tied & (tied - 1)))
        return constant(b, OpWeight, rows, b->s->d_model, name);
    if (b->tied < 0)
        b->tied = constant(b, OpWeight, rows, b->s->d_model,
                           tied & TieTarget ? "target.weight"
                                            : "source.weight");
    return b->tied;
}

static int ids(Build *b, Sym rows)
{
    Type t = { ElemI32, 1, { rows_of(b->s, rows) } };
    return put(b, (Node){ .op = OpInput, .type = t }, "ids");
}

static int add_positions(Build *b, int x, const char *side)
{
    const Spec *s = b->s;
    b->field = "positions.type";
    if (s->positions == PosNone)
        return x;
    bool learned = s->positions == PosLearned;
    const char *name = arena_printf(b->g->arena, "%s_positions%s", side,
                                    learned ? ".weight" : "");
    int rows = constant(b, learned ? OpWeight : OpSinusoid,
                        b->g->nodes.at[x].type.dim[0].c, s->d_model, name);
    b->prefix = join(b, side, ".");
    return binary(b, OpAdd, x, unary(b, OpPosition, rows, "positions"),
                  "input");
}

static int embed(Build *b, const char *side, int tie, Sym sym, int64_t vocab)
{
    int rows = table(b, tie, vocab, join(b, side, ".weight"));
    b->prefix = join(b, side, ".");
    int x = put(b, (Node){ .op = OpEmbed, .in = { rows, ids(b, sym) },
                           .nin = 2, .scale = 1 }, "embedding");
    if (b->s->embed_scale == EmbedScaleSqrt)
        x = scale(b, x, sqrt((double)b->s->d_model), "scaled_embedding");
    b->prefix = "";
    x = add_positions(b, x, side);
    b->prefix = "";
    return x;
}

/* Keys and values of each decoder layer's cross-attention. They depend on the
 * source alone, so the encode entry makes them, once.                       */
static void append_memory(Build *b, int memory)
{
    b->side = &b->s->side[SideDecoder];
    size_t bytes = (size_t)b->side->N * sizeof(int);
    enter(b, EntryEncode, "cross");
    for (int part = PartKey; part <= PartValue; part++)
        b->cross[part] = arena_alloc(b->g->arena, bytes);
    for (int i = 0; i < b->side->N; i++) {
        enter_layer(b, "decoder", i);
        b->prefix = join(b, b->prefix, "cross_attn.");
        int k = project(b, memory, Wk);
        int v = project(b, memory, Wv);
        k = split(b, k, "k.heads");
        v = split(b, v, "v.heads");
        b->cross[PartKey][i] = state(b, OpAppend, k, CacheCross, PartKey);
        b->cross[PartValue][i] = state(b, OpAppend, v, CacheCross, PartValue);
    }
}

static int build_encoder(Build *b)
{
    const Spec *s = b->s;
    enter(b, EntryEncode, "encoder");
    b->side = &s->side[SideEncoder];
    int x = embed(b, "source", TieSource, SymN, s->source.size);
    x = layers(b, x, b->side->N);
    b->g->memory = b->g->nodes.at[x].name;
    return x;
}

static void build_decoder(Build *b)
{
    const Spec *s = b->s;
    enter(b, EntryDecode, "decoder");
    b->side = &s->side[SideDecoder];
    int x = embed(b, "target", TieTarget, SymT, s->target.size);
    x = layers(b, x, b->side->N);
    int w = table(b, TieLogits, s->target.size, "logits.weight");
    x = binary(b, OpMatmul, x, w, "logits.matmul");
    if (s->bias_logits)
        x = binary(b, OpBias, x, constant(b, OpWeight, s->target.size, 0,
                                          "logits.bias"), "logits.biased");
    unary(b, OpOutput, unary(b, OpSelect, x, "logits.selected"), "logits");
}

/* One block of attention on three free inputs. */
static void build_attention(Build *b)
{
    static const struct { const char *name; Sym rows; } side[] = {
        { "query", SymN }, { "key", SymM }, { "value", SymM }
    };
    int x[3];
    enter(b, EntryEncode, "");
    b->side = &b->s->side[SideEncoder];
    b->field = "d_model";
    for (int i = 0; i < 3; i++) {
        Type t = { ElemF32, 2, { rows_of(b->s, side[i].rows),
                                 { b->s->d_model, SymNone } } };
        x[i] = put(b, (Node){ .op = OpInput, .type = t }, side[i].name);
    }
    int q = project(b, x[0], Wq);
    int k = project(b, x[1], Wk);
    int v = project(b, x[2], Wv);
    q = split(b, q, "q.heads");
    k = split(b, k, "k.heads");
    v = split(b, v, "v.heads");
    MaskKind mask = b->side->mask.causal ? MaskCausal : MaskNone;
    unary(b, OpOutput, attend(b, q, k, v, mask), "output");
}

Graph *build_graph(Arena *a, const Spec *s)
{
    Graph *g = arena_alloc(a, sizeof *g);
    g->arena = a;
    g->spec = s;
    Build b = { .g = g, .s = s, .tied = -1 };
    if (s->kind == KindAttention)
        build_attention(&b);
    if (s->kind == KindEncoder)
        unary(&b, OpOutput, build_encoder(&b), "output");
    if (s->kind == KindEncoderDecoder)
        append_memory(&b, build_encoder(&b));
    if (s->kind == KindDecoder || s->kind == KindEncoderDecoder)
        build_decoder(&b);
    check_graph(g, "build");
    return g;
}
