/* random_sublayers.h: replacements of attention and of dense networks, for
 * random_form.h, which includes this file after its own helpers. */
#ifndef ATTNC_RANDOM_SUBLAYERS_H
#define ATTNC_RANDOM_SUBLAYERS_H

/* True if a sequence of either side can have this many rows. */
static inline bool reaches(const RandomForm *f, int64_t rows)
{
    return (both_sides(f) || f->max_len[only_side(f)] >= rows)
        && (!both_sides(f) || (f->max_len[0] >= rows && f->max_len[1] >= rows));
}

static inline void form_convolution(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const bool depthwise = one_in(f, 3), pointwise = depthwise && coin(r);
    const bool product = !depthwise || pointwise;
    int64_t kernel = AMONG(r, 3, 1, 5, 7), dilation = AMONG(r, 1, 2, 5);

    kernel += r->kind == KindDecoder && coin(r);
    while (dilation > 1 && (kernel == 1 || !reaches(f, kernel * dilation)))
        dilation--;
    while (!reaches(f, kernel))
        kernel--;
    kernel -= has_source(r) && kernel % 2 == 0;
    r->matrix = product ? "convolution.w1" : "";
    say(r, "mix",
        TEXT(f,
             "{type: convolution, kernel: %lld, dilation: %lld, depthwise: %s, "
             "pointwise: %s, gated: %s, inner: %s}",
             (long long)kernel, (long long)dilation,
             depthwise ? "true" : "false", pointwise ? "true" : "false",
             product ? yes_no(r) : "false",
             product ? WORD(r, "0", "17", "0", "32") : "0"));
}

/* Chooses the mix that replaces attention. */
static inline void form_mix(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const char *direction = has_target(r)
                              ? "forward"
                              : WORD(r, "forward", "backward", "both");
    const char *cell = WORD(r, "simple, activation: tanh", "lstm", "gru",
                            "simple, activation: relu");
    const int64_t width = AMONG(r, 1, 7, 16, 20, 33, 64);

    if (coin(r)) {
        form_convolution(f);
        return;
    }
    f->sourced = both_sides(f) && f->N[0] == f->N[1] && coin(r);
    r->matrix = WORD(r, "recurrent.hidden", "recurrent.input");
    if (!strcmp(direction, "backward"))
        r->matrix = "recurrent.backward.hidden";
    say(r, "mix",
        TEXT(f, "{type: recurrent, cell: %s, direction: %s%s%s}", cell,
             direction, f->sourced ? ", start: source" : "",
             coin(r) ? "" : TEXT(f, ", width: %lld", (long long)width)));
}

/* Adds groups to half of them, shared experts to a third. */
static inline void form_experts(RandomForm *f)
{
    RandomSpec *r = &f->r;
    const int64_t groups = coin(r) ? 1 : AMONG(r, 2, 3);
    const int64_t each = AMONG(r, 2, 3, 5), n = groups * each;
    const int64_t some = 1 + pick(r, groups);
    const int64_t chosen = 1 + pick(r, each * some < 4 ? each * some : 4);
    const char *softmax = WORD(r, "before", "after", "sigmoid");

    say_sides(f, "d_ff",
              (int64_t[]){ AMONG(r, 1, 8, 17, 32), AMONG(r, 3, 16, 17, 33) });
    say(r, "ffn",
        TEXT(f,
             "{type: experts, experts: %lld, chosen: %lld, softmax: %s, "
             "normalize: %s, factor: %s, router_bias: %s, correction: %s, "
             "groups: %lld, groups_chosen: %lld, group_score: %s%s}",
             (long long)n, (long long)chosen, softmax, yes_no(r),
             WORD(r, "1", "2.5"), yes_no(r), yes_no(r), (long long)groups,
             (long long)some, WORD(r, "max", "pair"),
             one_in(f, 3) ? TEXT(f, ", shared: %lld, shared_gate: %s",
                                 (long long)AMONG(r, 5, 16), yes_no(r))
                          : ""));
}

/* Writes the keys of latent attention, some of whose columns all heads share.
 */
static inline void form_latent(RandomForm *f, bool given)
{
    RandomSpec own = f->r; /* later draws stay unchanged */

    f->rope = -1;
    if (!given || f->scoreless || f->r.kind == KindAttention
        || pick(&own, 4) > 0)
        return;
    f->rope = AMONG(&own, 0, 2, 3, 4);
    for (int i = 0; i < 2; i++) {
        f->h_kv[i] = f->h[i];
        f->d_k[i] = f->rope + AMONG(&own, 1, 2, 5, 8, 13);
    }
}

/* Returns the end of `attention` if it is latent. */
static inline const char *form_latent_keys(RandomForm *f)
{
    return f->rope < 0 ? ""
                       : TEXT(f,
                              ", latent: {kv_rank: %s, q_rank: %s, rope_dims: "
                              "%lld}",
                              WORD(&f->r, "4", "7", "16", "17"),
                              WORD(&f->r, "0", "5", "12", "16, eps: 1.0e-3"),
                              (long long)f->rope);
}

#endif
