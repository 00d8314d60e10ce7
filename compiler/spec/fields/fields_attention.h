/* fields_attention.h: rows of the field table (fields.c) for attention: heads,
 * masks, positions. */
/* clang-format off */
SPREAD("masking", WORDS("masking.encoder", "masking.decoder"), AllKinds,
       "A row sees the keys that all parts of the mask allow. Kind attention "
       "has only this mask."),
MASK("masking.encoder", side[SideEncoder].mask, Source_ | Attention, "none",
     "The encoder's self-attention has this mask."),
MASK("masking.decoder", side[SideDecoder].mask, Target_, "causal",
     "The decoder's self-attention has this mask."),

/* These rows come before positions, whose number of rotary columns has a
 * default that is derived from them. */
INT("attention.latent.kv_rank", latent_kv, 0, MostWidth, Model, "0", NULL,
    "Latent attention: keys and values of self-attention are computed from "
    "this many columns, the product kv_down and its norm. q_down has a norm, "
    "too [DeepSeek-V2]. 0: from the layer's rows."),
INT("attention.latent.q_rank", latent_q, 0, MostWidth, Model, "0", NULL,
    "Latent attention: queries are computed from this many columns, of "
    "q_down. 0: from the layer's rows."),
INT("attention.latent.rope_dims", latent_rope, 0, MostWidth, Model, "0", NULL,
    "Latent attention: this many of a key's d_k columns, the last ones, are "
    "the product k_rope of the layer's rows, which all heads share. Rotary "
    "positions turn only these, and those of queries, q_rope."),
REAL("attention.latent.eps", latent_eps, 1.0e-12, 1.0, Model, "norm.eps",
     follow_later,
     "Latent attention: this is added to the variance in its norms."),

SPREAD("positions", WORDS("positions.type"), Model,
       "The order of tokens enters the model in this way."),
ENUM("positions.type", positions, positions, Model, "sinusoidal", NULL,
     "Sinusoidal and learned positions are added to the embeddings, rotary "
     "positions rotate queries and keys, and alibi and relative positions "
     "are added to the scores."),
ENUM("positions.scores", pos_scores, biases, Model, "none", NULL,
     "These positions are added to the scores, in addition to positions of "
     "another type."),
REAL("positions.base", pos_base, 1.0, 1.0e9, Model, "10000", NULL,
     "Sinusoidal, rotary: the longest wavelength is 2 pi times this."),
INT("positions.first", pos_first, 0, MostRows, Model, "0", NULL,
    "Sinusoidal: the first token has this position. Learned: the first "
    "token has this row of the table."),
ENUM("positions.layout", pos_layout, layouts, Model, "interleaved", NULL,
     "Sinusoidal: sine and cosine alternate, or all sines come first. "
     "Rotary: column 2i is rotated with 2i+1, or i with i + dims/2."),
ENUM("positions.exponent", pos_exponent, exponents, Model, "paper", NULL,
     "Sinusoidal: wavelength i is base^(2i/d_model), or "
     "base^(i/(d_model/2 - 1))."),
INT("positions.dims", pos_dims, 2, MostWidth, Model,
    "d_k of the layer, or attention.latent.rope_dims", follow_dims,
    "Rotary: the first columns of each head, this many, are rotated; an odd "
    "number is rounded up. The wavelengths are 2 pi base^(2i/dims)."),
SPREAD("positions.scaling", WORDS("positions.scaling.step"), Model,
       "Rotary, alibi: positions are multiplied by this."),
REAL("positions.scaling.step", scaling.step, 1.0e-6, 1.0e6, Model, "1",
     NULL,
     "Positions are multiplied by this: in the angles of rotary positions, "
     "and in the distances of alibi. positions.scores are not scaled."),
ENUM("positions.scaling.type", scaling.type, scalings, Model, "none", NULL,
     "Wavelengths change in this way for texts longer than those of the "
     "training. The names are those of transformers; its linear is `step` "
     "here."),
REAL("positions.scaling.factor", scaling.factor, 1.0e-6, 1.0e6, Model, "",
     NULL,
     "A text may be this many times longer."),
INT("positions.scaling.original_max_len", scaling.original_max_len, 2,
    MostRows, Model, "", NULL,
    "The longest text of the training. If max_len is larger, dynamic changes "
    "wavelengths and longrope uses long_factor."),
REAL("positions.scaling.low_freq_factor", scaling.low_freq, 1.0e-6, 1.0e6,
     Model, "", NULL,
     "Wavelengths above original_max_len divided by this are multiplied by "
     "factor."),
REAL("positions.scaling.high_freq_factor", scaling.high_freq, 1.0e-6, 1.0e6,
     Model, "", NULL,
     "Wavelengths below original_max_len divided by this do not change."),
REAL("positions.scaling.beta_fast", scaling.beta_fast, 1.0e-6, 1.0e6, Model,
     "32", NULL,
     "Columns that turn more often than this within original_max_len do not "
     "change."),
REAL("positions.scaling.beta_slow", scaling.beta_slow, 1.0e-6, 1.0e6, Model,
     "1", NULL,
     "Columns that turn less often than this within original_max_len turn "
     "slower by factor."),
REAL("positions.scaling.mscale", scaling.mscale, 0, 1.0e6, Model, "0", NULL,
     "With mscale_all_dim: attention_factor is (0.1 mscale log(factor) + 1), "
     "divided by the same of mscale_all_dim."),
REAL("positions.scaling.mscale_all_dim", scaling.mscale_all, 0, 1.0e6,
     Model, "0", NULL,
     "See mscale. 0: neither is given."),
BOOL("positions.scaling.truncate", scaling.truncate, Model, "true", NULL,
     "The numbers of the pairs of columns at beta_fast and beta_slow are "
     "rounded to integers."),
REALS("positions.scaling.short_factor", scaling.short_factor, 1.0e-6, 1.0e6,
      Model,
      "Each pair's wavelength is multiplied by one of these if max_len is at "
      "most original_max_len."),
REALS("positions.scaling.long_factor", scaling.long_factor, 1.0e-6, 1.0e6,
      Model,
      "Each pair's wavelength is multiplied by one of these if max_len is "
      "larger than original_max_len."),
REAL("positions.scaling.attention_factor", scaling.attention_factor, 1.0e-6,
     1.0e6, Model,
     "0.1 log(factor) + 1 for yarn without mscale, sqrt(1 + log(factor) / "
     "log(original_max_len)) for longrope",
     follow_later,
     "Rotated columns of queries and keys are multiplied by this."),
REAL("positions.scaling.query_log", scaling.query_log, 0, 1.0e3, Model, "0",
     NULL,
     "Rotated columns of queries are also multiplied by 1 + this * log(1 + "
     "floor(position / original_max_len)). 0: they are not."),
INT("positions.buckets", pos_buckets, 4, MostRows, Model, "32", NULL,
    "Relative: the table of biases has this many rows."),
INT("positions.max_distance", pos_max_distance, 2, MostRows, Model, "128",
    NULL,
    "Relative: all keys at this distance and beyond have the same bias."),
