/* fields_shape.h: rows of the field table (fields.c) for the model and its
 * sizes. */
/* clang-format off */
INT("attnc", version, 1, 1, AllKinds, NULL, NULL,
"The spec is written in this version of the format."),
ROW("extends", FieldExtends, 0, 0, NULL, 0, 0, AllKinds, "", NULL,
    "This spec changes another one, whose path starts at the folder of "
    "this one."),
ROW("name", FieldName, offsetof(Spec, name), 0, NULL, 0, 0, AllKinds, NULL,
    NULL,
    "The model has this name; the functions of its C file begin with it."),
ENUM("kind", kind, kinds, AllKinds, NULL, NULL,
     "A model of this kind is built; `attention` is one multi-head "
     "attention block, whose query, key and value are free."),

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
      "The feed-forward network", "is this wide inside."),
SIDES("N", N, 1024, 0, NULL, NULL, NULL, "The stack",
      "has this many layers."),
SPREAD("max_len",
       WORDS("max_len.source", "max_len.target", "max_len.query",
             "max_len.key"),
       AllKinds, "No input is longer than this."),
INT("max_len.source", side[0].max_len, 1, MostRows, Source_, NULL, NULL,
    "A source has no more tokens than this, of which a class token is "
    "one."),
INT("max_len.target", side[1].max_len, 1, MostRows, Target_, NULL, NULL,
    "A target has no more tokens than this."),
INT("max_len.query", side[0].max_len, 1, MostRows, Attention, NULL, NULL,
    "The query has no more rows than this."),
INT("max_len.key", side[1].max_len, 1, MostRows, Attention, NULL, NULL,
    "The key and the value have no more rows than this."),

INT("fix.source", fix.source, 1, MostRows, Source_, "", NULL,
    "Each source has this many rows, of which a class token is one: a "
    "constant of the C, which takes no other; no bit of a result changes."),
INT("fix.target", fix.target, 1, MostRows, Target_, "", NULL,
    "Each call of decode has this many new rows of each target, a constant; "
    "1: steps."),
INT("fix.past", fix.past, 0, MostRows, Target_, "", NULL,
    "Before its new rows each target has this many, a constant; 0: they are "
    "its first."),
INT("fix.query", fix.query, 1, MostRows, Attention, "", NULL,
    "Each query has this many rows, a constant."),
INT("fix.key", fix.key, 1, MostRows, Attention, "", NULL,
    "Each key and value has this many rows, a constant."),
INT("fix.batch", fix.batch, 1, MostRows, AllKinds, "", NULL,
    "Each call has this many sequences, a constant: a search fills them up, "
    "with hypotheses that nobody asked for."),
INT("fix.threads", fix.threads, 1, 1, AllKinds, "", NULL,
    "A call runs on one thread, whatever its caller has."),
BOOL("fix.unroll", fix.unroll, AllKinds, "false", NULL,
     "Layers are written out one behind the other, not as loops, where all "
     "code stays in the cache of instructions."),
