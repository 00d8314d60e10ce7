/* fields_layer.h: rows of the field table (fields.c) for the parts of a
 * layer. */
/* clang-format off */
ROW("layers", FieldLayers, offsetof(Spec, layers), 0, NULL, 0, 0, Model, "",
    NULL,
    "Layers that differ: a list of rows. Each overrides fields of the spec for "
    "one layer, as the page spec-layers describes."),
SPREAD("norm", WORDS("norm.type"), Model, "Rows are normalised by this."),
ENUM("norm.type", norm_type, norms, Model, "layer", NULL,
     "The formula is that of layer normalisation, or of the root mean square."),
ENUM("norm.place", norm_place, places, Model, "post", NULL,
     "Post is norm(x + f(x)), pre is x + f(norm(x)), inside is x + "
     "norm(f(x)), both is x + norm(f(norm(x))), whose outer norms are "
     "norm1_after, norm2_after and norm3_after."),
BOOL("norm.bias", norm_bias, Model, "true for type layer", follow_norm_bias,
     "A norm adds a bias."),
REAL("norm.eps", norm_eps, 1.0e-12, 1.0, Model, "1.0e-6", NULL,
     "This is added to the variance."),
BOOL("norm.final", norm_final, Model, "true unless place is post", follow_final,
     "One more norm follows the last layer of a stack."),
BOOL("norm.embedding", norm_embedding, Model, "false", NULL,
     "One more norm precedes the first layer of a stack."),
BOOL("norm.attention", norm_attention, Model, "true", NULL,
     "Attention has the norms of norm.place. false: it reads x itself."),
BOOL("norm.ffn", norm_ffn, Model, "true", NULL,
     "The feed-forward network has the norms of norm.place. false: it reads "
     "x itself, also with parallel: shared."),
BOOL("norm.again", norm_again, Encoder, "false", NULL,
     "With place post, attention's part is norm1_after(x + norm1(x + f(x))): x "
     "is added once more, and a second norm follows."),
ENUM("norm.qk", norm_qk, qk_norms, Model, "false", NULL,
     "Queries and keys are normalised: true, each head by itself; width, all "
     "heads as one row; each, each head by itself and by weights of its own."),
BOOL("norm.qk_rotated", norm_qk_rotated, Model, "false", NULL,
     "The norms of norm.qk follow rotary positions. false: they precede "
     "these."),
SPREAD("residual", WORDS("residual.type"), Model,
       "A part of a layer is added to the rows that it reads, or replaces "
       "them."),
ENUM("residual.type", residual, residuals, Model, "add", NULL,
     "Add is x + f(x), none is f(x)."),
REAL("residual.scale", residual_scale, 1.0e-6, 1.0e6, Model, "1", NULL,
     "The result of a part is multiplied by this before it is added: x + s "
     "f(x)."),
ENUM("residual.learned", residual_learned, learned, Model, "none", NULL,
     "The result of a part is multiplied by a learned number, or each of its "
     "columns is by a number of its own: x + g * f(x)."),
ENUM("parallel", parallel, parallels, Encoder | Decoder, "false", NULL,
     "Attention and feed-forward network read the same rows, after one "
     "shared norm or each after its own."),
{ .key = "activation",
  .type = FieldActivation,
  .at = offsetof(Spec, activation),
  .also = offsetof(Spec, gated),
  .kinds = Model,
  .preset = "relu",
  .doc = "This is f of the feed-forward network w2 f(w1 x); with glu in "
         "its name it is f of w2 (f(w1 x) * (w3 x)). clipped_swiglu is "
         "quick_gelu of w1 x, limited to 7, times w3 x, limited to -7 and 7, "
         "plus 1." },
/* These rows come before the biases, whose defaults are derived from them. */
SPREAD("projections",
       WORDS("projections.q", "projections.k", "projections.v",
             "projections.o"),
       Attention,
       "The projection exists; false replaces it with the identity."),
BOOL("projections.q", has_q, Attention, "true", NULL,
     "The query has a projection."),
BOOL("projections.k", has_k, Attention, "true", NULL,
     "The key has a projection."),
BOOL("projections.v", has_v, Attention, "true", NULL,
     "The value has a projection."),
BOOL("projections.o", has_o, Attention, "true", NULL,
     "The output has a projection."),
SPREAD("bias", WORDS("bias.q", "bias.k", "bias.v", "bias.o", "bias.mix",
                     "bias.ffn"),
       AllKinds,
       "Products add a bias, except that of the logits."),
BOOL("bias.q", bias_q, AllKinds, "projections.q", follow_q,
     "The query projection adds a bias."),
BOOL("bias.k", bias_k, AllKinds, "projections.k", follow_k,
     "The key projection adds a bias."),
BOOL("bias.v", bias_v, AllKinds, "projections.v", follow_v,
     "The value projection adds a bias."),
BOOL("bias.o", bias_o, AllKinds, "projections.o", follow_o,
     "The output projection adds a bias."),
BOOL("bias.mix", bias_mix, Model, "true", NULL,
     "The products of a recurrent layer add a bias, for its rows and for its "
     "states. So does a convolution."),
BOOL("bias.ffn", bias_ffn, Model, "true", NULL,
     "The products of the feed-forward network add a bias."),
BOOL("bias.w2", bias_w2, Model, "bias.ffn", follow_w2,
     "The last product of the feed-forward network adds a bias."),
BOOL("bias.logits", bias_logits, Model, "false", NULL,
     "The product that gives the logits adds a bias."),

SPREAD("attention", WORDS("attention.scale"), AllKinds,
       "Scores of queries and keys are multiplied by this."),
REAL("attention.scale", attention_scale, 1.0e-6, 1.0e6, AllKinds,
     "1 / sqrt(d_k), 1 of additive scores", follow_later,
     "Scores of queries and keys are multiplied by this."),
ENUM("attention.score", attention_score, scores, AllKinds, "dot", NULL,
     "The score of a projected query and key: dot is q k, additive is v "
     "tanh(q + k), with a vector v for each head [Bahdanau et al. 2015]."),
ENUM("attention.normalizer", attention_normalizer, normalizers, AllKinds,
     "softmax", NULL,
     "A query's scores become weights in this way: softmax of all, or the "
     "sigmoid of each score by itself."),
REAL("attention.softcap", attention_softcap, 1.0e-3, 1.0e6, AllKinds, "",
     NULL, "A score becomes cap tanh(score / cap)."),
BOOL("attention.sinks", attention_sinks, Model, "false", NULL,
     "Each head of self-attention has one more score, which is learned and "
     "has no value. Its softmax takes weight from the keys."),
BOOL("attention.cross", attention_cross, Seq2seq, "true", NULL,
     "A decoder's layers attend to the rows of the encoder."),
REAL("attention.clip", attention_clip, 1.0e-3, 1.0e6, AllKinds, "", NULL,
     "Queries, keys and values are limited to -clip and clip, after their "
     "projections if they have any."),
BOOL("attention.clip_norms", attention_clip_norms, Model, "false", NULL,
     "Queries and keys of self-attention are limited after the norms of "
     "norm.qk. false: before them."),
