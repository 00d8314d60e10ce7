/* small_specs.h: specs built in C, one for each form of graph that the passes
 * must handle, and the oracle's value of a node. */
#ifndef ATTNC_SMALL_SPECS_H
#define ATTNC_SMALL_SPECS_H

#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

#include <math.h>
#include <string.h>

static inline Spec small_spec(void)
{
    static Pos nowhere[256]; /* by field: none was set */
    return (Spec){
        .field_pos = nowhere, .name = "small",
        .kind = KindEncoderDecoder, .d_model = 8, .embed_width = 8,
        .side = {
            { .N = 1, .h = 2, .h_kv = 2, .d_k = 3, .d_v = 4, .d_ff = 12,
              .max_len = 16 },
            { .N = 2, .h = 2, .h_kv = 2, .d_k = 3, .d_v = 4, .d_ff = 12,
              .max_len = 24, .mask = { .causal = true } },
        },
        .source = { .size = 9 }, .target = { .size = 11 },
        .pos_base = 10000, .scaling.step = 1, .norm_eps = 1e-5,
        .norm_bias = true, .norm_attention = true, .norm_ffn = true,
        .activation = ActRelu,
        .bias_q = true, .bias_k = true, .bias_v = true, .bias_o = true,
        .bias_ffn = true, .bias_w2 = true, .has_q = true, .has_k = true,
        .has_v = true, .has_o = true, .embed_scale = EmbedScaleSqrt,
        .attention_cross = true, .residual_scale = 1,
    };
}

enum { SmallSpecs = 18 };

/* Decoders of later models, by the mechanisms that they combine. */
static inline void later_decoder(Spec *s, int i)
{
    SpecSide *decoder = &s->side[SideDecoder];
    switch (i) {
    case 10: /* rotary, rms, gated, fewer key heads */
        s->kind = KindDecoder;
        s->norm_type = NormRms;
        s->norm_place = PlacePre;
        s->norm_final = s->gated = true;
        s->activation = ActSilu;
        s->positions = PosRotary;
        s->pos_dims = decoder->d_k = 4;
        s->bias_q = s->bias_k = s->bias_v = s->bias_o = s->bias_ffn =
            s->bias_w2 = false;
        decoder->h = 4;
        break;
    case 12: /* relative positions, scaled logits */
        s->positions = PosRelative;
        s->pos_buckets = 8;
        s->pos_max_distance = 20;
        s->norm_type = NormRms;
        s->norm_place = PlacePre;
        s->attention_scale = 1;
        s->logits_scale = 0.25;
        s->logits_softcap = 3;
        break;
    case 13: /* alibi, one key head, a parallel layer, clipped */
        s->kind = KindDecoder;
        s->positions = PosAlibi;
        s->norm_place = PlacePre;
        s->parallel = ParallelShared;
        s->attention_clip = 0.5;
        s->norm_bias = false;
        s->activation = ActGeluTanh;
        decoder->h = 6;
        decoder->h_kv = 1;
        break;
    }
}

/* More of them. */
static inline void another_decoder(Spec *s, int i)
{
    SpecSide *decoder = &s->side[SideDecoder];
    switch (i) {
    case 14: /* norms of queries, keys; softcap, window */
        s->kind = KindDecoder;
        s->positions = PosRotary;
        s->pos_layout = LayoutHalves;
        s->pos_dims = 2;
        s->norm_place = PlacePre;
        s->norm_qk = QkHeads, s->gated = true;
        s->parallel = ParallelSeparate;
        s->attention_softcap = 2;
        s->activation = ActGelu;
        s->embed_scale = EmbedScaleNumber;
        s->embed_factor = 3;
        decoder->mask.window = 2;
        break;
    case 16: /* a prefix, gates without an activation */
        s->kind = KindDecoder;
        s->gated = true;
        s->activation = ActNone;
        s->norm_qk = QkHeads;
        s->norm_type = NormRms;
        decoder->mask.prefix = true;
        break;
    }
}

/* And encoders. */
static inline void later_encoder(Spec *s, int i)
{
    SpecSide *encoder = &s->side[SideEncoder];
    switch (i) {
    case 11: /* learned from row 2, types, embedding norm */
        s->kind = KindEncoder;
        s->positions = PosLearned;
        s->pos_first = 2;
        s->embed_types = 2;
        s->norm_embedding = true;
        s->activation = ActGelu;
        s->head = HeadPool;
        s->head_pool = PoolMean;
        s->head_normalize = true;
        break;
    case 15: /* rows of numbers, blocks, a layer in front of classes */
        s->kind = KindEncoder;
        s->input = InputReal;
        s->input_width = 3;
        s->input_class_token = true;
        s->head = HeadClassify;
        s->head_pool = PoolClass;
        s->head_classes = 5;
        s->head_width = 6;
        s->head_act = ActTanh;
        s->head_norm = true;
        encoder->mask.block = 2;
        break;
    case 17: /* logits of an encoder, tied to a narrow table */
        s->embed_width = s->head_width = 4;
        s->embed_project = ProjectSum;
        s->embed_bias = s->head_bias = true;
        s->head_act = ActGelu;
        s->kind = KindEncoder;
        s->norm_place = PlacePre;
        s->head = HeadLogits;
        s->bias_logits = true;
        s->logits_scale = 0.5;
        s->embed_tie = TieSource | TieLogits;
        break;
    }
}

static inline Spec nth_spec(int i)
{
    Spec s = small_spec();
    switch (i) {
    case 1: /* three-way tying */
        s.source.size = s.target.size;
        s.embed_tie = TieSource | TieTarget | TieLogits;
        break;
    case 2:
        s.norm_place = PlacePre; /* and logits with a bias */
        s.norm_final = s.bias_logits = true;
        s.embed_tie = TieTarget | TieLogits;
        break;
    case 3: /* no bias, no activation, nothing scaled */
        s.bias_q = s.bias_k = s.bias_v = s.bias_o = s.bias_ffn = false;
        s.bias_w2 = false, s.activation = ActNone;
        s.embed_scale = EmbedScaleNone;
        s.positions = PosLearned;
        break;
    case 4: /* one of three has a bias */
        s.bias_k = s.bias_v = false;
        s.positions = PosNone;
        break;
    case 5:
        s.kind = KindEncoder;
        s.norm_final = true;
        break;
    case 6:
        s.kind = KindDecoder;
        s.norm_place = PlacePre;
        break;
    case 7:
        s.kind = KindAttention;
        s.side[SideEncoder].mask.causal = true;
        break;
    case 8: /* attention alone */
        s.kind = KindAttention;
        s.side[SideEncoder].d_k = 4;
        s.has_q = s.has_k = s.has_v = s.has_o = false;
        break;
    case 9:
        s.kind = KindEncoder;
        s.side[SideEncoder].mask.causal = true;
        s.norm_place = PlacePre;
        s.norm_final = s.bias_ffn = s.bias_w2 = false;
        break;
    default:
        later_decoder(&s, i);
        another_decoder(&s, i);
        later_encoder(&s, i);
    }
    return s;
}

/* Derives a tensor's values only from its name, so that all graphs of one spec
 * have the same weights. */
static inline const double *named_weight(void *user, int node)
{
    const Interp *in = user;
    const char *name = in->g->nodes.at[node].name;
    int64_t size = interp_size(in, node);
    double *w = arena_alloc(in->arena, (size_t)size * sizeof *w);
    uint64_t x = 88172645463325252u;
    for (const char *c = name; *c; c++)
        x = (x ^ (unsigned char)*c) * 1099511628211u;
    for (int64_t i = 0; i < size; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        w[i] = (double)(x >> 11) * 0x1p-52 - 1;
    }
    return w;
}

/* Evaluates both entries on one fixed sequence of 5 and 4 tokens. */
static inline Interp *evaluate(Arena *a, const Graph *g)
{
    static const int32_t source[5] = { 3, 1, 4, 1, 5 };
    static const int32_t target[4] = { 1, 7, 2, 8 };
    static const int32_t types[5] = { 0, 0, 1, 0, 1 };
    static const int32_t select[2] = { 1, 3 };
    static double rows[3][64];
    Interp *in = arena_alloc(a, sizeof *in);
    *in = (Interp){
        .g = g,
        .arena = a,
        .user = in,
        .weight = named_weight,
        .length = { [SymN] = 5,
                    [SymT] = 4,
                    [SymPT] = 4,
                    [SymR] = 2,
                    [SymM] = 6 },
        .prefix = 2,
        .ids = { [EntryEncode] = source, [EntryDecode] = target },
        .types = { [EntryEncode] = types },
        .rows = { rows[0], rows[1], rows[2] },
        .select = select,
    };
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 64; k++)
            rows[i][k] = sin(i + 3 * k);
    interp_run(in, EntryEncode);
    interp_run(in, EntryDecode);
    return in;
}

/* True if node x of one graph and node y of another have the same value. */
static inline bool same_value(const Interp *a, int x, const Interp *b, int y)
{
    int64_t size = interp_size(a, x);
    if (size < 1 || size != interp_size(b, y))
        return false;
    for (int64_t i = 0; i < size; i++) {
        double want = a->value[x][i], got = b->value[y][i];
        if (!(fabs(want - got) <= 1e-9 * (1 + fabs(want)))
            && !(isinf(want) && want == got))
            return false;
    }
    return true;
}

#endif
