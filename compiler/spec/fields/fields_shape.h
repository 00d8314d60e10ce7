/* fields_shape.h: rows of the field table (fields.c) for the model and its
 * sizes. */
/* clang-format off */
INT("attnc", version, 1, 1, AllKinds, NULL, NULL,
"The spec is written in this version of the format."),
ROW("extends", FieldExtends, 0, 0, NULL, 0, 0, AllKinds, "", NULL,
    "This spec overrides fields of another one. The path is relative to this "
    "file."),
ROW("name", FieldName, offsetof(Spec, name), 0, NULL, 0, 0, AllKinds, NULL,
    NULL,
    "The model has this name; the functions of its C file begin with it."),
ENUM("kind", kind, kinds, AllKinds, NULL, NULL,
     "The kind of model. `attention` is one multi-head attention block whose "
     "query, key and value are separate inputs."),

INT("d_model", d_model, 1, MostWidth, AllKinds, NULL, NULL,
    "Every layer reads and writes rows of this width."),
SIDES("h", h, 1024, Attention, NULL, NULL, NULL, "A layer",
      "has this many attention heads."),
SIDES("h_kv", h_kv, 1024, Attention, "h", encoder_h_kv, decoder_h_kv,
      "A layer",
      "has this many heads of keys and values, of which h is "
      "a multiple."),
SIDES("d_k", d_k, MostWidth, Attention, "d_model / h", encoder_d_k,
      decoder_d_k, "A head", "has queries and keys of this width."),
SIDES("d_v", d_v, MostWidth, Attention, "d_model / h", encoder_d_v,
      decoder_d_v, "A head", "has values of this width."),
SIDES("d_ff", d_ff, MostRows, 0, NULL, NULL, NULL,
      "The feed-forward network", "has inner rows of this width."),
SIDES("N", N, 1024, 0, NULL, NULL, NULL, "The stack",
      "has this many layers."),
SPREAD("max_len",
       WORDS("max_len.source", "max_len.target", "max_len.query",
             "max_len.key"),
       AllKinds, "No input is longer than this."),
INT("max_len.source", side[0].max_len, 1, MostRows, Source_, NULL, NULL,
    "A source has at most this many tokens, a class token included."),
INT("max_len.target", side[1].max_len, 1, MostRows, Target_, NULL, NULL,
    "A target has at most this many tokens."),
INT("max_len.query", side[0].max_len, 1, MostRows, Attention, NULL, NULL,
    "The query has at most this many rows."),
INT("max_len.key", side[1].max_len, 1, MostRows, Attention, NULL, NULL,
    "The key and the value have at most this many rows."),

INT("fix.source", fix.source, 1, MostRows, Source_, "", NULL,
    "Each source has exactly this many rows, a class token included. The "
    "length is a constant of the C; no bit of a result changes."),
INT("fix.target", fix.target, 1, MostRows, Target_, "", NULL,
    "Each call of decode has this many new rows of each target, a constant. "
    "1 is one step."),
INT("fix.past", fix.past, 0, MostRows, Target_, "", NULL,
    "Each target has this many rows before its new ones, a constant. 0: the "
    "new rows are its first."),
INT("fix.query", fix.query, 1, MostRows, Attention, "", NULL,
    "Each query has this many rows, a constant."),
INT("fix.key", fix.key, 1, MostRows, Attention, "", NULL,
    "Each key and value has this many rows, a constant."),
INT("fix.batch", fix.batch, 1, MostRows, AllKinds, "", NULL,
    "Each call has this many sequences, a constant. A search adds unused "
    "hypotheses to reach it."),
INT("fix.threads", fix.threads, 1, 1, AllKinds, "", NULL,
    "A call runs on one thread, even if its caller has more."),
INT("fix.ranks", fix.ranks, 1, 64, AllKinds, "", NULL,
    "Number of processes (ranks of MPI) that divide the model. attnc compile "
    "--ranks=N sets it."),
BOOL("fix.sum_ranks", fix.sum_ranks, AllKinds, "false", NULL,
     "Ranks also add sums of floats, which makes less traffic. The bits then "
     "depend on the number of ranks. attnc compile --sum-ranks sets it."),
BOOL("fix.unroll", fix.unroll, AllKinds, "false", NULL,
     "Layers are written out one after the other, not as loops, if all code "
     "fits into the instruction cache."),
