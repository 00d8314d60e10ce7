/* random_spec.h: valid specs of the paper's form by number; the same seed gives
 * the same text. Sizes are small, often odd or prime, and cross the cache's
 * pages and the weights' panels. random_form.h has models of any form. */
#ifndef ATTNC_RANDOM_SPEC_H
#define ATTNC_RANDOM_SPEC_H

#include <string.h>

#include "passes/passes.h"
#include "plan/plan.h"
#include "oracle/oracle.h"

typedef struct {
    Arena *arena;
    uint64_t state;
    char *text;
    ModelKind kind;
    int64_t d_model, h;
    bool shared;
    const char *matrix; /* one of a layer's first sublayer; NULL: self_attn.v;
                           "": none */
} RandomSpec;

/* 0 .. n-1 */
static inline int64_t pick(RandomSpec *r, int64_t n)
{
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return (int64_t)((r->state >> 11) % (uint64_t)n);
}

static inline bool coin(RandomSpec *r)
{
    return pick(r, 2) == 1;
}

static inline int64_t among(RandomSpec *r, const int64_t *list, int64_t n)
{
    return list[pick(r, n)];
}
#define AMONG(r, ...) among((r), (const int64_t[]){ __VA_ARGS__ },            \
    (int64_t)(sizeof (const int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)))
/* Returns one word of a list. */
#define WORD(r, ...) ((const char *const[]){ __VA_ARGS__ })[pick((r),         \
    (int64_t)(sizeof (const char *const[]){ __VA_ARGS__ } / sizeof(char *)))]

static inline void say(RandomSpec *r, const char *key, const char *value)
{
    r->text = arena_printf(r->arena, "%s%s: %s\n", r->text, key, value);
}

static inline void say_int(RandomSpec *r, const char *key, int64_t value)
{
    say(r, key, arena_printf(r->arena, "%lld", (long long)value));
}

static inline const char *yes_no(RandomSpec *r)
{
    return coin(r) ? "true" : "false";
}

static inline bool has_source(const RandomSpec *r)
{
    return r->kind != KindDecoder;
}

static inline bool has_target(const RandomSpec *r)
{
    return r->kind == KindDecoder || r->kind == KindEncoderDecoder;
}

/* Gives narrower weights to one spec of three, integers to one of six, and to
 * one of six different formats for weights that would otherwise be merged. One
 * of six with f32 computes in bf16x3. */
static inline void random_dtype(RandomSpec *r)
{
    static const char *const few[] = { "bf16", "int8", "bf16", "int4",
                                       "int4g64" };
    static const char *const arithmetic[] = { "f32", "int8", "int15" };
    const char *word = pick(r, 3) ? "f32" : few[pick(r, 5)];
    const char *key = arena_printf(r->arena, "%s.0.%s",
                                   r->kind == KindDecoder ? "decoder"
                                                          : "encoder",
                                   r->matrix ? r->matrix : "self_attn.v");

    if (*word == 'i')
        say(r, "arithmetic", arithmetic[pick(r, 3)]);
    const int64_t which = *word == 'b' ? pick(r, 4) : 0;
    if (which % 2 == 1)
        say(r, "arithmetic", which == 1 ? "bf16_dp" : "bf16_amx");
    const bool has_key = !r->matrix || *r->matrix, f32 = *word == 'f';
    if (has_key && r->kind != KindAttention && pick(r, 6) == 0)
        word = arena_printf(r->arena, "{default: %s, %s: %s}", word, key,
                            f32 ? "bf16" : "f32");
    say(r, "dtype", word);
    if (f32 && pick(r, 6) == 0)
        say(r, "arithmetic", "bf16x3");
    if ((r->kind == KindDecoder || r->kind == KindEncoderDecoder)
        && pick(r, 4) == 0)
        say(r, "cache",
            pick(r, 2) || strstr(r->text, "additive") ? "bf16" : "int8");
}

static inline void random_width(RandomSpec *r)
{
    r->h = AMONG(r, 1, 2, 3, 4, 5);
    bool divides = coin(r);
    int64_t d = AMONG(r, 2, 4, 6, 8, 10, 14, 16, 18, 22, 34, 48);
    r->d_model = divides ? r->h * AMONG(r, 2, 4, 6, 8, 16) : d;
    say_int(r, "d_model", r->d_model);
    say_int(r, "h", r->h);
    if (divides && coin(r))
        return;
    say_int(r, "d_k", AMONG(r, 1, 2, 3, 5, 7, 8, 13, 16, 17));
    say_int(r, "d_v", AMONG(r, 1, 2, 3, 5, 7, 8, 11, 16, 19, 33));
}

static inline void random_attention(RandomSpec *r)
{
    bool fits = r->d_model % r->h == 0;
    say(r, "masking", coin(r) ? "causal" : "none");
    say(r, "max_len",
        arena_printf(r->arena, "{query: %lld, key: %lld}",
                     (long long)AMONG(r, 1, 7, 64, 70),
                     (long long)AMONG(r, 1, 5, 65, 130)));
    if (fits && !strstr(r->text, "d_v:") && coin(r)) {
        say(r, "projections",
            arena_printf(r->arena, "{q: %s, k: %s, v: %s, o: %s}", yes_no(r),
                         yes_no(r), yes_no(r), yes_no(r)));
        return; /* biases follow the projections */
    }
    say(r, "bias",
        arena_printf(r->arena, "{q: %s, k: %s, v: %s, o: %s}", yes_no(r),
                     yes_no(r), yes_no(r), yes_no(r)));
}

static inline void random_positions(RandomSpec *r)
{
    if (pick(r, 4) == 0) {
        say(r, "positions", coin(r) ? "learned" : "none");
        return;
    }
    bool t2t = r->d_model >= 4 && coin(r);
    say(r, "positions",
        arena_printf(r->arena,
                     "{type: sinusoidal, base: %s, "
                     "first: %lld, layout: %s, exponent: %s}",
                     coin(r) ? "10000" : "500.5", (long long)AMONG(r, 0, 1, 9),
                     coin(r) ? "halves" : "interleaved",
                     t2t ? "tensor2tensor" : "paper"));
}

static inline void random_vocab(RandomSpec *r)
{
    int64_t size = AMONG(r, 5, 16, 17, 31, 48, 67);
    r->shared = r->kind == KindEncoderDecoder && coin(r);
    r->text = arena_printf(r->arena, "%svocab:\n", r->text);
    if (r->kind != KindEncoderDecoder || r->shared) {
        say_int(r, "  size", size);
    } else {
        say(r, "  source",
            arena_printf(r->arena, "{size: %lld}", (long long)size));
        say(r, "  target",
            arena_printf(r->arena, "{size: %lld}",
                         (long long)AMONG(r, 6, 15, 16, 33, 50)));
    }
    if (r->kind == KindEncoderDecoder)
        say(r, "  tokens", "{start: 1, end: 2}");
}

static inline void random_embedding(RandomSpec *r)
{
    const char *tie = "[]";
    if (has_target(r) && coin(r))
        tie = "[target, logits]";
    if (r->shared)
        tie = ((const char *[]){ "[]", "[source, target]", "[source, logits]",
                                 "[source, target, logits]" })[pick(r, 4)];
    if (!strcmp(tie, "[]"))
        say(r, "embedding",
            coin(r) ? "{scale: none}" : "{scale: sqrt_d_model}");
    else
        say(r, "embedding",
            arena_printf(r->arena, "{scale: %s, tie: %s}",
                         coin(r) ? "none" : "sqrt_d_model", tie));
}

static inline void random_layers(RandomSpec *r)
{
    say_int(r, "d_ff", AMONG(r, 1, 3, 8, 16, 17, 37, 64));
    say_int(r, "N", AMONG(r, 1, 2, 3));
    say_int(r, "max_len", AMONG(r, 1, 2, 17, 64, 65, 100, 130));
    say(r, "norm",
        arena_printf(r->arena, "{type: layer, place: %s, eps: %s, final: %s}",
                     coin(r) ? "pre" : "post", coin(r) ? "1.0e-6" : "1.0e-3",
                     yes_no(r)));
    say(r, "activation", pick(r, 4) ? "relu" : "none");
    r->text = arena_printf(r->arena, "%sbias:\n", r->text);
    say(r, "  q", yes_no(r));
    say(r, "  k", yes_no(r));
    say(r, "  v", yes_no(r));
    say(r, "  o", yes_no(r));
    say(r, "  ffn", yes_no(r));
    if (has_target(r))
        say(r, "  logits", yes_no(r));
    if (has_source(r))
        say(r, "masking",
            arena_printf(r->arena, "{encoder: %s}",
                         coin(r) ? "causal" : "none"));
}

/* Writes the first lines. The seed follows `name`. */
static inline RandomSpec random_begin(Arena *a, uint64_t seed, const char *name)
{
    static const char *const kinds[] = {
        [KindEncoderDecoder] = "encoder-decoder",
        [KindEncoder] = "encoder",
        [KindDecoder] = "decoder",
        [KindAttention] = "attention",
    };
    RandomSpec r = { .arena = a,
                     .state = (seed + 1) * 0x9E3779B97F4A7C15u,
                     .text = "" };
    for (int i = 0; i < 8; i++)
        pick(&r, 2);
    r.kind = (ModelKind)AMONG(&r, KindEncoderDecoder, KindEncoderDecoder,
                              KindEncoder, KindDecoder, KindAttention);
    say(&r, "attnc", "1");
    say(&r, "name", arena_printf(a, "%s-%llu", name, (unsigned long long)seed));
    say(&r, "kind", kinds[r.kind]);
    return r;
}

static inline const char *random_spec(Arena *a, uint64_t seed)
{
    RandomSpec r = random_begin(a, seed, "random");

    random_width(&r);
    if (r.kind == KindAttention) {
        random_attention(&r);
        random_dtype(&r);
        return r.text;
    }
    random_layers(&r);
    random_positions(&r);
    random_vocab(&r);
    random_embedding(&r);
    random_dtype(&r);
    return r.text;
}

#endif
