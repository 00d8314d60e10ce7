/* fields_attention.h: rows of the field table (fields.c) for attention: heads,
 * masks, positions. */
/* clang-format off */
SPREAD("masking", WORDS("masking.encoder", "masking.decoder"), AllKinds,
   "A position may attend to what all parts of the mask allow; kind "
   "attention has this mask only."),
MASK("masking.encoder", side[SideEncoder].mask, Source_ | Attention, "none",
     "The encoder's self-attention has this mask."),
MASK("masking.decoder", side[SideDecoder].mask, Target_, "causal",
     "The decoder's self-attention has this mask."),

/* before positions, because their default number of rotary columns follows from
 * these */
INT("attention.latent.kv_rank", latent_kv, 0, MostWidth, Model, "0", NULL,
    "Keys and values of self-attention are made of so many columns: a product, "
    "kv_down, and its norm, which q_down has too [DeepSeek-V2]; 0: of the "
    "layer's rows."),
INT("attention.latent.q_rank", latent_q, 0, MostWidth, Model, "0", NULL,
    "Latent attention: queries are made of so many columns, of q_down; 0: of "
    "the layer's rows."),
INT("attention.latent.rope_dims", latent_rope, 0, MostWidth, Model, "0", NULL,
    "Latent attention: so many of d_k columns of a key, the last ones, are a "
    "product of the layer's rows that all heads share, k_rope. Rotary "
    "positions turn these alone, and those of queries, q_rope."),
REAL("attention.latent.eps", latent_eps, 1.0e-12, 1.0, Model, "norm.eps",
     follow_later, "Latent attention: eps of its norms."),

SPREAD("positions", WORDS("positions.type"), Model,
       "The order of tokens enters in this way."),
ENUM("positions.type", positions, positions, Model, "sinusoidal", NULL,
     "Sinusoidal and learned positions are added to the embeddings, "
     "rotary ones rotate queries and keys, alibi and relative ones are "
     "added to the scores."),
ENUM("positions.scores", pos_scores, biases, Model, "none", NULL,
     "Beside positions of another type these are added to the scores."),
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
    "Rotary: so many columns of each head are rotated, the first ones; "
    "of an odd number one more. The wavelengths are 2 pi base^(2i/dims)."),
SPREAD("positions.scaling", WORDS("positions.scaling.step"), Model,
       "Rotary, alibi: positions are multiplied by this."),
REAL("positions.scaling.step", scaling.step, 1.0e-6, 1.0e6, Model, "1",
     NULL,
     "Positions are multiplied by this: in the angles of rotary ones, in the "
     "distances of alibi; those of positions.scores are not."),
ENUM("positions.scaling.type", scaling.type, scalings, Model, "none", NULL,
     "Wavelengths are changed for a text longer than those of the "
     "training, as transformers does by this name; linear is step."),
REAL("positions.scaling.factor", scaling.factor, 1.0e-6, 1.0e6, Model, "",
     NULL, "A text may be so many times longer."),
INT("positions.scaling.original_max_len", scaling.original_max_len, 2,
    MostRows, Model, "", NULL,
    "The longest text of the training. Dynamic changes wavelengths, and "
    "longrope takes long_factor, where max_len is more than this."),
REAL("positions.scaling.low_freq_factor", scaling.low_freq, 1.0e-6, 1.0e6,
     Model, "", NULL,
     "Wavelengths above original_max_len over this are multiplied by "
     "factor."),
REAL("positions.scaling.high_freq_factor", scaling.high_freq, 1.0e-6, 1.0e6,
     Model, "", NULL, "Wavelengths below original_max_len over this stay."),
REAL("positions.scaling.beta_fast", scaling.beta_fast, 1.0e-6, 1.0e6, Model,
     "32", NULL,
     "What turns more often than this in original_max_len stays."),
REAL("positions.scaling.beta_slow", scaling.beta_slow, 1.0e-6, 1.0e6, Model,
     "1", NULL, "What turns less often is slower by factor."),
REAL("positions.scaling.mscale", scaling.mscale, 0, 1.0e6, Model, "0", NULL,
     "With mscale_all_dim: attention_factor is (0.1 mscale log(factor) + "
     "1) over the same of mscale_all_dim."),
REAL("positions.scaling.mscale_all_dim", scaling.mscale_all, 0, 1.0e6,
     Model, "0", NULL, "See mscale; 0: neither is given."),
BOOL("positions.scaling.truncate", scaling.truncate, Model, "true", NULL,
     "The pairs of columns at beta_fast and beta_slow are whole numbers."),
REALS("positions.scaling.short_factor", scaling.short_factor, 1.0e-6, 1.0e6,
      Model,
      "Each pair's wavelength is multiplied by one of these, where "
      "max_len is at most original_max_len."),
REALS("positions.scaling.long_factor", scaling.long_factor, 1.0e-6, 1.0e6,
      Model, "The same where max_len is more."),
REAL("positions.scaling.attention_factor", scaling.attention_factor, 1.0e-6,
     1.0e6, Model,
     "0.1 log(factor) + 1 for yarn without mscale, sqrt(1 + log(factor) / "
     "log(original_max_len)) for longrope",
     follow_later,
     "Rotated columns of queries and keys are multiplied by this."),
INT("positions.buckets", pos_buckets, 4, MostRows, Model, "32", NULL,
    "Relative: the table of biases has this many rows."),
INT("positions.max_distance", pos_max_distance, 2, MostRows, Model, "128",
    NULL, "Relative: keys at this distance and beyond have one bias."),
