/* fields_ends.h: rows of the field table (fields.c) for both ends of a
 * model. */
/* clang-format off */
REAL("logits.scale", logits_scale, 1.0e-6, 1.0e6, Model, "", NULL,
 "The logits are multiplied by this."),
REAL("logits.softcap", logits_softcap, 1.0e-3, 1.0e6, Model, "", NULL,
     "A logit becomes cap tanh(logit / cap)."),

{ .key = "embedding.scale",
  .type = FieldScale,
  .at = offsetof(Spec, embed_scale),
  .also = offsetof(Spec, embed_factor),
  .words = scales,
  .least = 1.0e-6,
  .most = 1.0e6,
  .kinds = Model,
  .preset = "sqrt_d_model",
  .doc = "A token's embedding is multiplied by this, before embedding.project "
         "and before positions are added." },
INT("embedding.width", embed_width, 1, MostWidth, Model, "d_model",
    follow_width,
    "A token's embedding has this width. If it is not d_model, "
    "embedding.project chooses the product that takes it to d_model."),
ENUM("embedding.project", embed_project, projects, Model,
     "sum if embedding.width is not d_model", follow_project,
     "A product takes embeddings to d_model: only those of tokens, or the "
     "sum of tokens, positions and types, after norm.embedding."),
BOOL("embedding.bias", embed_bias, Model, "true", NULL,
     "The product of embedding.project adds a bias."),
ROW("embedding.tie", FieldFlags, offsetof(Spec, embed_tie), 0, ties, 0, 0,
    Model, "", NULL, "These matrices are one tensor."),
INT("embedding.types", embed_types, 0, 1024, Model, "0", NULL,
    "There are this many types of tokens, each with an embedding that is "
    "added. In an encoder-decoder these are types of the source."),
SPREAD("input", WORDS("input.type"), Source_, "The encoder reads this."),
ENUM("input.type", input, inputs, Source_, "tokens", NULL,
     "The encoder reads tokens, or rows of numbers that a product takes "
     "to d_model."),
INT("input.width", input_width, 0, MostWidth, Source_, "0", NULL,
    "Real: a row has this many numbers."),
REALS("input.kernels", input_kernels, 1, 4096, Source_,
      "Real: convolutions with these kernels replace that product. Each "
      "gives d_model columns, with a bias and input.activation. Rows outside "
      "of the input are zeros."),
REALS("input.strides", input_strides, 1, 4096, Source_,
      "Real: a convolution makes one row of this many; the default is 1. A "
      "row of the input then holds, one after the other, all rows (frames) "
      "that become one row of the encoder."),
ENUM("input.activation", input_act, acts, Source_, "gelu", NULL,
     "Real: this follows each convolution."),
REALS("input.image", input_image, 1, 65536, Source_,
      "Real: the encoder reads images, [channels, height, width] in memory. "
      "Its rows are their patches, from left to right and line by line. An "
      "image may have another height; max_len.source is the largest number "
      "of patches."),
REALS("input.patch", input_patch, 1, 65536, Source_,
      "Real: [height, width] of a patch. Its numbers have the order of a "
      "Conv2d's kernel: channel by channel, and line by line in each channel."),
BOOL("input.class_token", input_class_token, Source_, "false", NULL,
     "Real: a learned row precedes those of the input, of which there are at "
     "most max_len.source - 1. Convolutions do not read it: it precedes the "
     "rows of the last one."),
BOOL("input.distillation_token", input_distillation_token, Source_, "false",
     NULL,
     "Real: another learned row follows the class token's."),
SPREAD("head", WORDS("head.type"), Model,
       "This is made of the last layer's rows."),
ENUM("head.type", head, heads, Model, "default", NULL,
     "By default an encoder returns rows and a decoder logits. An encoder "
     "can also return logits, pool its rows to one, and classify that one or "
     "each row."),
ENUM("head.pool", head_pool, pools, Encoder,
     "mean for pool, class for classify", follow_pool,
     "Rows become one in this way; class takes the first row. With logits, "
     "those of all rows become one row."),
BOOL("head.normalize", head_normalize, Encoder, "false", NULL,
     "Pool, rows: each row of the result has length 1."),
ENUM("head.activation", out_act, acts, Encoder, "none", NULL,
     "Logits, classify, token_classify: this is f of each logit, before "
     "logits are pooled."),
INT("head.classes", head_classes, 0, MostTokens, Encoder, "0", NULL,
    "Classify, token_classify: the number of classes."),
BOOL("head.bias", class_bias, Encoder, "true", NULL,
     "Classify, token_classify: the product that gives the classes adds a "
     "bias."),
SPREAD("head.dense", WORDS("head.dense.width"), Model,
       "The head has a dense layer of this width. 0: none."),
INT("head.dense.width", head_width, 0, MostWidth, Model, "0", NULL,
    "The head has a dense layer of this width, after pooling and before "
    "logits and classes. The head `rows` returns its rows. 0: none."),
ENUM("head.dense.activation", head_act, acts, Model, "none", NULL,
     "This is f of the dense layer f(W x + b)."),
BOOL("head.dense.pooled", head_pooled, Encoder, "true", NULL,
     "Pool, classify: the dense layer reads the pooled row. false: it reads "
     "each row, and its rows are pooled."),
BOOL("head.dense.bias", head_bias, Model, "true", NULL,
     "The dense layer adds a bias."),
BOOL("head.dense.norm", head_norm, Model, "false", NULL,
     "A norm follows the dense layer."),
SPREAD("head.second", WORDS("head.second.width"), Model,
       "The head has a second dense layer of this width. 0: none."),
INT("head.second.width", second_width, 0, MostWidth, Model, "0", NULL,
    "Another dense layer of this width follows head.dense and its norm. 0: "
    "none."),
ENUM("head.second.activation", second_act, acts, Model, "none", NULL,
     "This is f of the second dense layer f(W x + b)."),
BOOL("head.second.bias", second_bias, Model, "true", NULL,
     "The second dense layer adds a bias."),
IDS("head.score", FieldIds, score, 0, Encoder,
    "Logits: the result is the logit of this id, such as that of the word yes. "
    "Of two ids, it is the difference of their logits."),
INT("head.query.length", query_length, 0, MostTokens, Encoder, "0", NULL,
    "Rows: a query is filled with head.query.token up to this many tokens, or "
    "cut to them (late interaction). 0: neither. attnc run --task=query and "
    "--task=document read texts in these ways."),
BOOL("head.query.cut", query_cut, Encoder, "true", NULL,
     "Rows: a longer query is cut to head.query.length."),
INT("head.query.token", query_token, 0, MostTokens, Encoder, "", NULL,
    "Rows: this id fills a query, such as that of [MASK]."),
BOOL("head.query.attend", query_attend, Encoder, "false", NULL,
     "Rows: all rows attend to the tokens that fill a query. false: none "
     "does, but each of them has a row."),
INT("head.query.prefix", query_prefix, 0, MostTokens, Encoder, "", NULL,
    "Rows: this id follows the first token of a query."),
INT("head.document.length", document_length, 0, MostTokens, Encoder, "0", NULL,
    "Rows: a document is cut to this many tokens. 0: it is not."),
INT("head.document.prefix", document_prefix, 0, MostTokens, Encoder, "", NULL,
    "Rows: this id follows the first token of a document."),
IDS("head.document.skip", FieldIds, document_skip, 0, Encoder,
    "Rows: a document has no rows for these ids, such as those of "
    "punctuation."),
