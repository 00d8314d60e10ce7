/* random_pattern.h: rows of `layers` for random_form.h, which includes this
 * file. */
#ifndef ATTNC_RANDOM_PATTERN_H
#define ATTNC_RANDOM_PATTERN_H

/* Returns another mix of rows. If a decoder begins with its source's states,
 * both stacks have the same. */
static inline const char *form_mix_row(RandomForm *f, Side side)
{
    if (f->sourced)
        return "{residual.scale: 0.7}";
    RandomSpec own = f->r; /* later draws stay unchanged */
    if (coin(&f->r))
        return TEXT(f, "{mix: {type: recurrent, cell: %s, width: %s}}",
                    WORD(&f->r, "simple", "gru", "lstm"),
                    WORD(&own, "7", "5", "12", "16"));
    const char *depthwise = yes_no(&f->r);
    const int64_t most = side == SideDecoder ? 6 : 5;
    int64_t kernel = AMONG(&own, 3, 1, 5, most);
    while (kernel > f->max_len[side])
        kernel -= side == SideDecoder || kernel < 2 ? 1 : 2;
    return TEXT(f,
                "{mix: {type: convolution, kernel: %lld, dilation: 1, "
                "depthwise: %s, pointwise: %s, gated: false, inner: 0}}",
                (long long)kernel, depthwise, depthwise);
}

/* Returns a row of a pattern: fields that differ from the spec's. */
static inline const char *form_row(RandomForm *f, Side side)
{
    RandomSpec *r = &f->r;
    const int64_t form = pick(r, f->scoreless ? 7 : 18);

    f->shaped |= form == 4 || form == 5 || form == 12 || form == 13;
    switch (form) {
    case 0:  return "{norm.eps: 0.001}";
    case 1:  return TEXT(f, "{bias: {ffn: %s}}", yes_no(r));
    case 2:  return "{ffn: none}";
    case 3:  return "{}";
    case 4:  return form_mix_row(f, side);
    case 5:  return "{ffn: dense, d_ff: 5, activation: swiglu}";
    case 6:  return "{bias: false}";
    case 7:  return "{masking: [causal, {window: 3}]}";
    case 8:  return "{attention.softcap: 2.5}";
    case 9:  return "{attention: {normalizer: sigmoid}}";
    case 10: return "{attention: {score: additive}}";
    case 11: return "{positions: none}";
    case 12:
        return f->rope < 0 ? "{h_kv: 1, d_v: 5}"
                           : "{attention: {latent: {q_rank: 0, kv_rank: 9}}}";
    case 13: return TEXT(f, "{d_k: %lld}", (long long)(2 * f->d_k[side]));
    case 14: return "{masking: [causal, {block: 2}]}";
    case 15: return "{masking: [causal, prefix]}";
    case 16:
        return both_sides(f) ? "{attention.clip: 0.5}"
                             : "{parallel: separate, norm.place: pre, "
                               "norm.attention: true, residual: add}";
    default: return "{masking: causal, attention: {scale: 0.4}}";
    }
}

/* Returns rows of a pattern; with `repeat` they add up to N. */
static inline const char *form_rows(RandomForm *f, Side side)
{
    const int64_t N = f->N[side], rows = 1 + pick(&f->r, N);
    const bool counted = coin(&f->r);
    const char *text = "";

    for (int64_t i = 0; i < rows; i++) {
        const char *row = form_row(f, side);
        const int64_t times = i < rows - 1 ? 1 : N - i;
        text = TEXT(f, "%s%s%.*s", text, i ? ", " : "",
                    (int)strlen(row) - counted, row);
        if (counted)
            text = TEXT(f, "%s%srepeat: %lld}", text,
                        strlen(row) > 2 ? ", " : "", (long long)times);
    }
    return TEXT(f, "[%s]", text);
}

static inline void form_pattern(RandomForm *f)
{
    if (!one_in(f, 3))
        return;
    f->r.matrix = ""; /* which a layer may lack */
    if (!both_sides(f))
        say(&f->r, "layers", form_rows(f, only_side(f)));
    else
        say(&f->r, "layers",
            TEXT(f, "{encoder: %s, decoder: %s}", form_rows(f, SideEncoder),
                 form_rows(f, SideDecoder)));
}

#endif
