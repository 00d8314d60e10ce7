/* build_graph.c: builds the graph of a spec: the input, one or two stacks of
 * layers, and the head. build_layer.c builds the layers. */
#include <math.h>

#include "graph/build.h"

/* ---- what comes in ---- */

typedef struct {      /* the input of one stack */
    const char *name; /* "source" or "target" */
    int tie;          /* Tie bit of its embedding table */
    Sym rows;
    int64_t vocab;
    bool first; /* the model's first or only stack */
} End;

/* Returns the ReadBy bits of a table with these Tie bits. */
static int readers_of(int ties)
{
    return (ties & (TieSource | TieTarget) ? ReadByLookUp : 0)
         | (ties & TieLogits ? ReadByProduct | ReadByLogits : 0);
}

/* Returns the embedding table of a side. Tied sides share one. */
static int table(Build *b, int tie, int64_t rows, int64_t width,
                 const char *name)
{
    int tied = b->s->embed_tie & tie ? b->s->embed_tie : 0;
    b->field = "embedding.tie";
    if (!(tied & (tied - 1)))
        return put_matrix(b, rows, width, name, readers_of(tie));
    if (b->tied < 0)
        b->tied = put_matrix(b, rows, width,
                             tied & TieTarget ? "target" : "source",
                             readers_of(tied));
    return b->tied;
}

static int input(Build *b, Type t, BatchMember member, const char *word)
{
    return put_node(b, (Node){ .op = OpInput, .type = t, .member = member },
                    word);
}

static int ids(Build *b, Sym rows, BatchMember member, const char *word)
{
    return input(b, (Type){ ElemI32, 1, { rows_of(b->s, rows) } }, member,
                 word);
}

static int look_up(Build *b, int rows, int id, const char *name)
{
    return put_node(
        b, (Node){ .op = OpEmbed, .in = { rows, id }, .nin = 2, .scale = 1 },
        name);
}

static double embedding_scale(const Spec *s)
{
    switch (s->embed_scale) {
    case EmbedScaleSqrt:   return sqrt((double)s->d_model);
    case EmbedScaleNumber: return s->embed_factor;
    case EmbedScaleNone:   break;
    }
    return 1;
}

static int tokens(Build *b, const End *e)
{
    int rows = table(b, e->tie, e->vocab, b->s->embed_width, e->name);
    b->prefix = build_join(b, e->name, ".");
    int x = look_up(b, rows, ids(b, e->rows, BatchIds, "ids"), "embedding");
    x = put_scale(b, x, embedding_scale(b->s), "scaled_embedding");
    b->prefix = "";
    return x;
}

/* Adds the im2col of convolution i, with one result row per `stride` frames. An
 * input row holds `frames` frames side by side; they become separate rows of
 * the encoder. */
static int frame_taps(Build *b, int x, int i, int64_t stride, int64_t frames,
                      const char *word)
{
    const int64_t taps = (int64_t)b->s->input_kernels.at[i];
    const Node n = { .op = OpTaps,
                     .in = { x },
                     .nin = 1,
                     .taps = taps,
                     .dilation = 1,
                     .stride = stride,
                     .frames = i ? 1 : frames,
                     .skipped = spec_input_learned(b->s) * frames,
                     .first = -(taps - 1) / 2 };
    return put_node(b, n, build_join(b, word, ".taps"));
}

/* Adds the convolutions over frames: source.convolution.0,
 * source.convolution.1, ... They skip the learned rows, which are inserted
 * after the last convolution. */
static int convolutions(Build *b, int x, const End *e)
{
    const Spec *s = b->s;
    int64_t frames = spec_input_frames(s);
    b->field = "input.kernels";
    for (int i = 0; i < s->input_kernels.n; i++) {
        const char *word = arena_printf(b->g->arena, "%s.convolution.%d",
                                        e->name, i);
        const int64_t taps = (int64_t)s->input_kernels.at[i];
        const int64_t stride = s->input_strides.n
                                 ? (int64_t)s->input_strides.at[i]
                                 : 1;
        x = frame_taps(b, x, i, stride, frames, word);
        frames /= stride;
        x = put_product_of_taps(b, x, taps, s->d_model, true, word);
        x = put_activation(b, x, s->input_act, build_join(b, word, ".active"));
    }
    return x;
}

/* Adds the patches of an image. The input rows, in order, are its pixels. */
static int patches(Build *b, int x, const End *e)
{
    const double *image = b->s->input_image.at, *patch = b->s->input_patch.at;
    const Node n = { .op = OpPatches,
                     .in = { x },
                     .nin = 1,
                     .first = spec_input_learned(b->s),
                     .channels = (int64_t)image[0],
                     .tall = (int64_t)patch[0],
                     .wide = (int64_t)patch[1],
                     .across = (int64_t)(image[2] / patch[1]) };
    b->field = "input.image";
    return put_node(b, n, build_join(b, e->name, ".patches"));
}

/* Replaces row `at` by a learned row. */
static int learned_row(Build *b, int x, const End *e, int64_t at,
                       const char *word)
{
    Arena *a = b->g->arena;
    b->field = arena_printf(a, "input.%s", word);
    const int w = put_weight(b, b->s->d_model, 0,
                             arena_printf(a, "%s.%s", e->name, word));
    const Node n = { .op = OpFirstRow, .in = { x, w }, .nin = 2, .first = -at };
    return put_node(b, n, arena_printf(a, "%s.with_%s", e->name, word));
}

/* Adds an input of real numbers instead of tokens. */
static int numbers(Build *b, const End *e)
{
    Type t = { ElemF32,
               2,
               { rows_of(b->s, e->rows), { .c = b->s->input_width } } };
    b->field = "input.width";
    int x = input(b, t, BatchInput, build_join(b, e->name, ".values"));
    if (b->s->input_image.n > 0)
        x = patches(b, x, e);
    if (b->s->input_kernels.n > 0)
        x = convolutions(b, x, e);
    else
        x = put_linear(b, x, b->s->d_model, true,
                       build_join(b, e->name, ".input_projection"));
    if (b->s->input_distillation_token)
        x = learned_row(b, x, e, 1, "distillation_token");
    return b->s->input_class_token ? learned_row(b, x, e, 0, "class_token") : x;
}

static int add_positions(Build *b, int x, const End *e)
{
    const Spec *s = b->s;
    bool learned = s->positions == PosLearned;
    b->field = "positions.type";
    if (!learned && s->positions != PosSinusoidal)
        return x;
    const char *word = build_join(b, e->name, "_positions");
    int64_t first = learned ? s->pos_first : 0;
    const int64_t count = first + b->side->max_len;
    const int64_t d = width_of(b, x);
    int rows = learned ? put_weight(b, count, d, word)
                       : put_table(b, OpSinusoid, count, d, word);
    b->prefix = build_join(b, e->name, ".");
    int p = put_node(
        b, (Node){ .op = OpPosition, .in = { rows }, .nin = 1, .first = first },
        "positions");
    x = put_binary(b, OpAdd, x, p, "input");
    b->prefix = "";
    return x;
}

static int add_types(Build *b, int x, const End *e)
{
    if (b->s->embed_types < 1 || !e->first)
        return x;
    b->field = "embedding.types";
    int rows = put_matrix(b, b->s->embed_types, width_of(b, x), "types",
                          ReadByLookUp);
    b->prefix = build_join(b, e->name, ".");
    int y = look_up(b, rows, ids(b, e->rows, BatchTypes, "types"),
                    "type_embedding");
    x = put_binary(b, OpAdd, x, y, "typed_input");
    b->prefix = "";
    return x;
}

/* Projects embeddings to d_model if the spec projects them at this point. */
static int project_embedding(Build *b, int x, const End *e, EmbedProject here)
{
    const Spec *s = b->s;
    if (s->embed_project != here)
        return x;
    b->field = "embedding.project";
    return put_linear(b, x, s->d_model, s->embed_bias,
                      build_join(b, e->name, ".embedding_projection"));
}

static int stack(Build *b, const End *e)
{
    bool real = e->first && b->s->input == InputReal;
    int x = real ? numbers(b, e)
                 : project_embedding(b, tokens(b, e), e, ProjectTokens);
    x = add_types(b, add_positions(b, x, e), e);
    b->outside_layers = true;
    if (b->s->norm_embedding)
        x = put_norm(b, x, "embedding_norm");
    b->outside_layers = false;
    if (!real)
        x = project_embedding(b, x, e, ProjectSum);
    return build_layers(b, x);
}

/* ---- what goes out ---- */

static int logits(Build *b, int x)
{
    const Spec *s = b->s;
    int64_t vocab = b->entry == EntryDecode ? s->target.size : s->source.size;
    int w = table(b, TieLogits, vocab, width_of(b, x), "logits");
    x = put_binary(b, OpMatmul, x, w, "logits.matmul");
    if (s->bias_logits)
        x = put_binary(b, OpBias, x, put_bias(b, vocab, "logits"),
                       "logits.biased");
    x = put_scale(b, x, s->logits_scale > 0 ? s->logits_scale : 1,
                  "logits.scaled");
    return put_softcap(b, x, s->logits_softcap, "logits.capped");
}

static int pool(Build *b, int x)
{
    Node n = { .op = OpPool, .in = { x }, .nin = 1, .pool = b->s->head_pool };
    b->field = "head.pool";
    return put_node(b, n, "pooled");
}

/* Adds the head's dense layers, if there are any. */
static int dense_head(Build *b, int x)
{
    const Spec *s = b->s;
    if (s->head_width < 1)
        return x;
    b->field = "head.dense.width";
    x = put_linear(b, x, s->head_width, s->head_bias, "head.dense");
    x = put_activation(b, x, s->head_act, "head.activation");
    x = s->head_norm ? put_norm(b, x, "head.norm") : x;
    if (s->second_width < 1)
        return x;
    b->field = "head.second.width";
    x = put_linear(b, x, s->second_width, s->second_bias, "head.second");
    return put_activation(b, x, s->second_act, "head.second.activation");
}

static int normalize(Build *b, int x)
{
    Node n = { .op = OpL2Norm, .in = { x }, .nin = 1, .eps = 1e-12 };
    b->field = "head.normalize";
    return b->s->head_normalize ? put_node(b, n, "normalized") : x;
}

/* Adds the function of logits. */
static int activate(Build *b, int x)
{
    b->field = "head.activation";
    return put_activation(b, x, b->s->out_act, "head.activated");
}

/* Returns true if the logits are those of one row. It is chosen before they are
 * computed. */
static bool picks_row(const Spec *s)
{
    return s->head == HeadLogits
        && (s->head_pool == PoolClass || s->head_pool == PoolLast);
}

/* Adds the function of logits, and pools them if the spec asks for that. A
 * function that never falls gives the same after a maximum, of fewer logits. */
static int finish_logits(Build *b, int x)
{
    const Activation act = b->s->out_act;
    const bool rises = act == ActRelu || act == ActLog1pRelu
                    || act == ActLog1pTwice;
    if (b->s->head_pool == PoolNone || picks_row(b->s))
        return activate(b, x);
    if (b->s->head_pool == PoolMax && rises)
        return activate(b, pool(b, x));
    return pool(b, activate(b, x));
}

/* Returns one column of x. */
static int column(Build *b, int x, int64_t first, const char *word)
{
    Node n = { .op = OpSlice, .in = { x }, .nin = 1, .first = first };
    n.type = (Type){ ElemF32, 2, { [1] = { .c = 1 } } };
    return put_node(b, n, word);
}

/* Returns the score of head.score, a difference of logits. */
static int score(Build *b, int x)
{
    const SpecIds *ids = &b->s->score;
    b->field = "head.score";
    if (ids->n == 0)
        return x;
    const int yes = column(b, x, ids->at[0], "score.first");
    if (ids->n == 1)
        return yes;
    const int no = put_scale(b, column(b, x, ids->at[1], "score.second"), -1,
                             "score.subtracted");
    return put_binary(b, OpAdd, no, yes, "score");
}

static int encoder_logits(Build *b, int x)
{
    return score(b, finish_logits(b, logits(b, x)));
}

static int classes(Build *b, int x)
{
    b->field = "head.classes";
    return activate(b, put_linear(b, x, b->s->head_classes, b->s->class_bias,
                                  "classifier"));
}

/* clang-format off */
static const struct {
    int (*build)(Build *b, int x);
    const char *name;            /* name of the result */
    bool pooled;                 /* one row for each sequence: no Select */
} heads[] = {
    [HeadRows]          = { normalize, "output", false },
    [HeadLogits]        = { encoder_logits, "logits", false },
    [HeadPool]          = { normalize, "output", true },
    [HeadClassify]      = { classes,   "output", true },
    [HeadTokenClassify] = { classes,   "output", false },
};
/* clang-format on */

static void finish(Build *b, int x)
{
    HeadType head = b->s->head;
    if (head == HeadDefault)
        head = b->entry == EntryDecode ? HeadLogits : HeadRows;
    const char *name = heads[head].name;
    if ((heads[head].pooled && b->s->head_pooled) || picks_row(b->s))
        x = pool(b, x);
    x = dense_head(b, x);
    if (heads[head].pooled && !b->s->head_pooled)
        x = pool(b, x);
    x = heads[head].build(b, x);
    if (b->entry == EntryDecode && !heads[head].pooled)
        x = put_unary(b, OpSelect, x, build_join(b, name, ".selected"));
    put_unary(b, OpOutput, x, name);
}

/* ---- the kinds ---- */

static int build_encoder(Build *b)
{
    const Spec *s = b->s;
    build_enter(b, EntryEncode, StackEncoder);
    b->side = &s->side[SideEncoder];
    int x = stack(b, &(End){ "source", TieSource, SymN, s->source.size, true });
    b->g->memory = b->g->nodes.at[x].name;
    return x;
}

static int build_decoder(Build *b)
{
    const Spec *s = b->s;
    build_enter(b, EntryDecode, StackDecoder);
    b->side = &s->side[SideDecoder];
    return stack(b, &(End){ "target", TieTarget, SymT, s->target.size,
                            s->kind == KindDecoder });
}

static int build_both(Build *b)
{
    const Spec *s = b->s;
    if (spec_sourced(s))
        b->scans = arena_alloc(b->g->arena, (size_t)s->side[SideEncoder].N
                                                * sizeof *b->scans);
    const int memory = build_encoder(b);
    append_memory(b, memory);
    return build_decoder(b);
}

/* Builds a single attention whose queries, keys and values are inputs. */
static int build_attention(Build *b)
{
    static const struct {
        const char *name;
        Sym rows;
        BatchMember member;
    } free_input[] = {
        { "query", SymN, BatchQuery },
        { "key", SymM, BatchKey },
        { "value", SymM, BatchValue },
    };
    int x[3];
    build_enter(b, EntryEncode, StackNone);
    b->side = &b->s->side[SideEncoder];
    b->field = "d_model";
    for (int i = 0; i < 3; i++)
        x[i] = input(b,
                     (Type){ ElemF32,
                             2,
                             { rows_of(b->s, free_input[i].rows),
                               { .c = b->s->d_model } } },
                     free_input[i].member, free_input[i].name);
    return build_heads(b, x);
}

static int (*const kinds[])(Build *b) = {
    [KindEncoderDecoder] = build_both,
    [KindEncoder] = build_encoder,
    [KindDecoder] = build_decoder,
    [KindAttention] = build_attention,
};

Graph *build_graph(Arena *a, const Spec *s)
{
    Graph *g = arena_alloc(a, sizeof *g);
    g->arena = a;
    g->spec = s;
    g->caches = 2;
    g->cache[CacheCross].of = CacheCross;
    Build b = { .g = g, .s = s, .tied = -1 };
    finish(&b, kinds[s->kind](&b));
    if (b.scans) /* only the scans are read by a decoder that starts from the
                  * encoder's states */
        graph_remove_dead(g);
    check_graph(g, "build");
    return g;
}

/* Returns the name and shape of a weight. If it consists of several tensors,
 * the name is that of tensor `e`. */
static WeightName weight_name(const Graph *g, const Node *n, int64_t e)
{
    WeightName w = { .name = weight_part(g->arena, n, e),
                     .layer = n->layer,
                     .readers = n->readers,
                     .rank = n->type.rank };
    for (int i = 0; i < w.rank; i++)
        w.dim[i] = n->type.dim[i].c;
    return w;
}

bool names_fit(const Graph *g)
{
    VEC(WeightName) weights = { 0 };

    for (int i = 0; i < g->nodes.n; i++) {
        const Node *n = &g->nodes.at[i];
        if (n->op == OpWeight)
            for (int64_t e = 0; e == 0 || e < n->parts; e++)
                vec_push(g->arena, &weights, weight_name(g, n, e));
    }
    return spec_names_fit(g->arena, g->spec, weights.at, weights.n);
}
