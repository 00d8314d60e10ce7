/* fields.c: every field of the spec is one row of the table below. Defaults
 * are those of the paper's base model wherever it has one.                  */
#include <string.h>

#include "spec/fields.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define ROW(k, t, at_, also_, w, lo, hi, kinds_, p, fol, d)                   \
    { .key = k, .type = t, .at = at_, .also = also_, .words = w, .least = lo, \
      .most = hi, .kinds = kinds_, .preset = p, .follow = fol, .doc = d }
#define INT(key, member, least, most, kinds, preset, follow, doc)             \
    ROW(key, FieldInt, offsetof(Spec, member), 0, NULL, least, most, kinds,   \
        preset, follow, doc)
#define REAL(key, member, least, most, kinds, preset, follow, doc)            \
    ROW(key, FieldReal, offsetof(Spec, member), 0, NULL, least, most, kinds,  \
        preset, follow, doc)
#define REALS(key, member, least, most, kinds, doc)                           \
    ROW(key, FieldReals, offsetof(Spec, member), 0, NULL, least, most, kinds, \
        "", NULL, doc)
#define IDS(key, type, at_, also_, kinds, doc)                                \
    ROW(key, type, offsetof(Spec, at_), also_, NULL, 0, MostTokens, kinds, "", \
        NULL, doc)
#define BOOL(key, member, kinds, preset, follow, doc)                         \
    ROW(key, FieldBool, offsetof(Spec, member), 0, NULL, 0, 1, kinds, preset, \
        follow, doc)
#define ENUM(key, member, words, kinds, preset, follow, doc)                  \
    ROW(key, FieldEnum, offsetof(Spec, member), 0, words, 0, 0, kinds,        \
        preset, follow, doc)
#define MASK(key, member, kinds, preset, doc)                                 \
    ROW(key, FieldMask, offsetof(Spec, member), 0, masks, 1, MostRows, kinds, \
        preset, NULL, doc)
#define SAYS(key, member, doc)                                                \
    ROW(key, FieldText, offsetof(Spec, chat.member), 0, NULL, 0, 0, Decoder,  \
        "", NULL, doc)
#define PATH(key, member, kinds, doc)                                         \
    ROW(key, FieldPath, offsetof(Spec, member), 0, NULL, 0, 0, kinds, "",     \
        NULL, doc)
#define SPREAD(k, w, kinds_, d)                                               \
    { .key = k, .type = FieldSpread, .words = w, .kinds = kinds_,             \
      .preset = "", .doc = d }
/* A member of SpecSide: one value for both sides, or one for each. */
#define SIDES(key, member, most, also, preset, encoder, decoder, what, does)  \
    SPREAD(key, WORDS(key ".encoder", key ".decoder"), Model | (also),        \
           what " " does),                                                    \
    INT(key ".encoder", side[SideEncoder].member, 1, most, Source_ | (also),  \
        preset, encoder, what " of the encoder " does),                       \
    INT(key ".decoder", side[SideDecoder].member, 1, most, Target_, preset,   \
        decoder, what " of the decoder " does)

/* The words of each enum, in the order of its C names (compiler.h). */
static const char *const kinds[] = { "encoder-decoder", "encoder", "decoder",
                                     "attention", NULL };
static const char *const masks[] = { "none", "causal", "prefix", NULL };
static const char *const positions[] = { "sinusoidal", "learned", "none",
                                         "rotary",     "alibi",   "relative",
                                         NULL };
static const char *const biases[] = { "none", "alibi", "relative", NULL };
static const char *const layouts[] = { "interleaved", "halves", NULL };
static const char *const exponents[] = { "paper", "tensor2tensor", NULL };
static const char *const trims[] = { "none", "turns", "all", NULL };
static const char *const scalings[] = { "none", "dynamic",  "llama3",
                                        "yarn", "longrope", NULL };
static const char *const norms[] = { "layer", "rms", NULL };
static const char *const places[] = { "post", "pre", NULL };
static const char *const parallels[] = { "false", "shared", "separate", NULL };
static const char *const inputs[] = { "tokens", "real", NULL };
static const char *const heads[] = { "default", "rows",     "logits",
                                     "pool",    "classify", "token_classify",
                                     NULL };
static const char *const pools[] = { "none", "mean", "class",
                                     "last", "max",  NULL };
static const char *const acts[] = {
#define ACT(name, text, ...) text,
#include "spec/activations.h"
    NULL
};
static const char *const projects[] = { "none", "sum", "tokens", NULL };
static const char *const scales[] = { "none", "sqrt_d_model", NULL };
static const char *const ties[] = { "source", "target", "logits", NULL };
static const char *const rules[] = { "exact", "recorded", NULL };
static const char *const penalties[] = { "none", "gnmt", "power", NULL };
static const char *const splits[] = { "characters", "spaces", NULL };
static const char *const arithmetics[] = { "f32", "int8", "int15", NULL };

/* ------------------------------------- defaults that follow from others --- */
static int64_t share(const Spec *s, Side side)
{
    int64_t h = s->side[side].h;
    return h ? s->d_model / h : 0;
}

static void encoder_h_kv(Spec *s)
{
    s->side[SideEncoder].h_kv = s->side[SideEncoder].h;
}

static void decoder_h_kv(Spec *s)
{
    s->side[SideDecoder].h_kv = s->side[SideDecoder].h;
}

static void encoder_d_k(Spec *s)
{
    s->side[SideEncoder].d_k = share(s, SideEncoder);
}

static void decoder_d_k(Spec *s)
{
    s->side[SideDecoder].d_k = share(s, SideDecoder);
}

/* Not d_k: the paper's Table 3, rows B, varies d_k alone. */
static void encoder_d_v(Spec *s)
{
    s->side[SideEncoder].d_v = share(s, SideEncoder);
}

static void decoder_d_v(Spec *s)
{
    s->side[SideDecoder].d_v = share(s, SideDecoder);
}

/* The zero that stands there says it: spec.c counts the lines of a file, the
 * scale of scores follows from d_k.                                         */
static void follow_later(Spec *s)
{
    (void)s;
}

static void follow_shared(Spec *s)
{
    s->vocab_shared = s->field_pos[field_row("vocab.size")].src
                   || s->field_pos[field_row("vocab.file")].src;
}

static void follow_append_end(Spec *s)
{
    s->append_end = s->kind == KindEncoderDecoder && s->token_end >= 0;
}

static void follow_final(Spec *s)
{
    s->norm_final = s->norm_place == PlacePre;
}

static void follow_norm_bias(Spec *s)
{
    s->norm_bias = s->norm_type == NormLayer;
}

static void follow_dims(Spec *s)
{
    int64_t a = s->side[SideEncoder].d_k, b = s->side[SideDecoder].d_k;

    if (s->positions == PosRotary)
        s->pos_dims = !b || (a && a < b) ? a : b;
}

static void follow_width(Spec *s)
{
    s->embed_width = s->d_model;
}

static void follow_project(Spec *s)
{
    s->embed_project = s->embed_width == s->d_model ? ProjectNone : ProjectSum;
}

static void follow_pool(Spec *s)
{
    s->head_pool = s->head == HeadPool     ? PoolMean
                 : s->head == HeadClassify ? PoolClass
                                           : PoolNone;
}

static void follow_q(Spec *s)
{
    s->bias_q = s->has_q;
}
static void follow_k(Spec *s)
{
    s->bias_k = s->has_k;
}
static void follow_v(Spec *s)
{
    s->bias_v = s->has_v;
}
static void follow_o(Spec *s)
{
    s->bias_o = s->has_o;
}

static void follow_alpha(Spec *s)
{
    static const double alpha[] = {
        [PenaltyNone] = 0,
        [PenaltyGnmt] = 0.6,
        [PenaltyPower] = 1,
    };
    s->search_alpha = alpha[s->search_penalty];
}

static void follow_plus(Spec *s)
{
    s->max_output_plus = s->kind == KindEncoderDecoder && s->max_output < 0
                           ? 50
                           : -1;
}

/* ------------------------------------------------------------- table --- */
enum { MostWidth = 1 << 16, MostRows = 1 << 20, MostTokens = 1 << 24 };

const Field fields[] = {
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

    SPREAD("vocab.size", WORDS("vocab.source.size", "vocab.target.size"), Model,
           "The vocabulary of each side has this many tokens."),
    SPREAD("vocab.file", WORDS("vocab.source.file", "vocab.target.file"), Model,
           "This file has the tokens of both sides in UTF-8, one a line; a "
           "token's id is the number of its line, from 0."),
    INT("vocab.source.size", source.size, 1, MostTokens, Source_,
        "lines of the file", follow_later,
        "The source's vocabulary has this many tokens."),
    PATH("vocab.source.file", source.file, Source_,
         "This file, relative to the spec, has the source's tokens."),
    INT("vocab.target.size", target.size, 1, MostTokens, Target_,
        "lines of the file", follow_later,
        "The target's vocabulary has this many tokens."),
    PATH("vocab.target.file", target.file, Target_,
         "This file, relative to the spec, has the target's tokens."),
    BOOL("vocab.shared", vocab_shared, Seq2seq,
         "true where vocab.size or vocab.file is given", follow_shared,
         "Source and target have one vocabulary."),
    INT("vocab.tokens.start", token_start, 0, MostTokens, Target_, "", NULL,
        "The decoder reads this id first; no answer has it, unless it is the "
        "end too."),
    IDS("vocab.tokens.end", FieldIds, token_ends, offsetof(Spec, token_end),
        Model,
        "This id ends a text; of a list each, and the first is added to "
        "sources."),
    INT("vocab.tokens.pad", token_pad, 0, MostTokens, Model, "", NULL,
        "This id is never written, unless it is the end too."),
    SPREAD("vocab.tokens.unknown",
           WORDS("vocab.tokens.unknown.source", "vocab.tokens.unknown.target"),
           Model,
           "Text that is no token gets this id; without one such text is an "
           "error."),
    INT("vocab.tokens.unknown.source", token_unknown, 0, MostTokens, Source_,
        "", NULL, "Text of the source that is no token gets this id."),
    INT("vocab.tokens.unknown.target", token_unknown_target, 0, MostTokens,
        Target_, "", NULL, "Text of the target that is no token gets this id."),
    SPREAD("vocab.split", WORDS("vocab.split.source", "vocab.split.target"),
           Model, "Text is cut into tokens, and joined again, in this way."),
    ENUM("vocab.split.source", split_source, splits, Source_, "spaces", NULL,
         "The source's text is cut in this way."),
    ENUM("vocab.split.target", split_target, splits, Target_, "spaces", NULL,
         "The target's text is cut, and joined again, in this way."),
    BOOL("vocab.append_end", append_end, Source_,
         "true for an encoder-decoder with vocab.tokens.end", follow_append_end,
         "The end token is added to the source."),

    SPREAD("masking", WORDS("masking.encoder", "masking.decoder"), AllKinds,
           "A position may attend to what all parts of the mask allow; kind "
           "attention has this mask only."),
    MASK("masking.encoder", side[SideEncoder].mask, Source_ | Attention, "none",
         "The encoder's self-attention has this mask."),
    MASK("masking.decoder", side[SideDecoder].mask, Target_, "causal",
         "The decoder's self-attention has this mask."),

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
    INT("positions.dims", pos_dims, 2, MostWidth, Model, "d_k", follow_dims,
        "Rotary: so many columns of each head are rotated, the first ones; "
        "of an odd number one more. The wavelengths are 2 pi base^(2i/dims)."),
    SPREAD("positions.scaling", WORDS("positions.scaling.step"), Model,
           "Rotary, alibi: positions are multiplied by this."),
    REAL("positions.scaling.step", scaling.step, 1.0e-6, 1.0e6, Model, "1",
         NULL, "Positions are multiplied by this."),
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

    SPREAD("norm", WORDS("norm.type"), Model, "Rows are normalised by this."),
    ENUM("norm.type", norm_type, norms, Model, "layer", NULL,
         "The formula is that of layer normalisation, or of root mean "
         "squares."),
    ENUM("norm.place", norm_place, places, Model, "post", NULL,
         "Post is norm(x + f(x)), pre is x + f(norm(x))."),
    BOOL("norm.bias", norm_bias, Model, "true for type layer", follow_norm_bias,
         "A norm adds a bias."),
    REAL("norm.eps", norm_eps, 1.0e-12, 1.0, Model, "1.0e-6", NULL,
         "This is added to the variance."),
    BOOL("norm.final", norm_final, Model, "true for place pre", follow_final,
         "One more norm follows the last layer of a stack."),
    BOOL("norm.embedding", norm_embedding, Model, "false", NULL,
         "One more norm stands before the first layer of a stack."),
    BOOL("norm.qk", norm_qk, Model, "false", NULL,
         "Each head's queries and keys are normalised."),
    ENUM("parallel", parallel, parallels, Encoder | Decoder, "false", NULL,
         "Attention and feed-forward network stand side by side, behind one "
         "norm or each behind its own."),
    { .key = "activation",
      .type = FieldActivation,
      .at = offsetof(Spec, activation),
      .also = offsetof(Spec, gated),
      .kinds = Model,
      .preset = "relu",
      .doc = "This is f of the feed-forward network w2 f(w1 x); with glu in "
             "its name it is f of w2 (f(w1 x) * (w3 x))." },
    /* before the biases, whose defaults follow from these */
    SPREAD("projections",
           WORDS("projections.q", "projections.k", "projections.v",
                 "projections.o"),
           Attention,
           "The projection is there; false puts the identity in its place."),
    BOOL("projections.q", has_q, Attention, "true", NULL,
         "The query has a projection."),
    BOOL("projections.k", has_k, Attention, "true", NULL,
         "The key has a projection."),
    BOOL("projections.v", has_v, Attention, "true", NULL,
         "The value has a projection."),
    BOOL("projections.o", has_o, Attention, "true", NULL,
         "The output has a projection."),
    SPREAD("bias", WORDS("bias.q", "bias.k", "bias.v", "bias.o", "bias.ffn"),
           AllKinds, "Products add a bias, all but that of the logits."),
    BOOL("bias.q", bias_q, AllKinds, "projections.q", follow_q,
         "The query projection adds a bias."),
    BOOL("bias.k", bias_k, AllKinds, "projections.k", follow_k,
         "The key projection adds a bias."),
    BOOL("bias.v", bias_v, AllKinds, "projections.v", follow_v,
         "The value projection adds a bias."),
    BOOL("bias.o", bias_o, AllKinds, "projections.o", follow_o,
         "The output projection adds a bias."),
    BOOL("bias.ffn", bias_ffn, Model, "true", NULL,
         "Both products of the feed-forward network add a bias."),
    BOOL("bias.logits", bias_logits, Model, "false", NULL,
         "The product that gives the logits adds a bias."),

    SPREAD("attention", WORDS("attention.scale"), AllKinds,
           "Scores of queries and keys are multiplied by this."),
    REAL("attention.scale", attention_scale, 1.0e-6, 1.0e6, AllKinds,
         "1 / sqrt(d_k)", follow_later,
         "Scores of queries and keys are multiplied by this."),
    REAL("attention.softcap", attention_softcap, 1.0e-3, 1.0e6, AllKinds, "",
         NULL, "A score becomes cap tanh(score / cap)."),
    REAL("attention.clip", attention_clip, 1.0e-3, 1.0e6, AllKinds, "", NULL,
         "What the projections of queries, keys and values give is limited to "
         "-clip and clip."),
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
      .doc = "Embeddings are multiplied by this before positions are added." },
    INT("embedding.width", embed_width, 1, MostWidth, Model, "d_model",
        follow_width,
        "A token's embedding has this width; where it is not d_model, "
        "embedding.project says which product takes it there."),
    ENUM("embedding.project", embed_project, projects, Model,
         "sum where embedding.width is not d_model", follow_project,
         "A product takes embeddings to d_model: those of tokens alone, or "
         "the sum of tokens, positions and types, behind norm.embedding."),
    BOOL("embedding.bias", embed_bias, Model, "true", NULL,
         "The product of embedding.project adds a bias."),
    ROW("embedding.tie", FieldFlags, offsetof(Spec, embed_tie), 0, ties, 0, 0,
        Model, "", NULL, "These matrices are one tensor."),
    INT("embedding.types", embed_types, 0, 1024, Model, "0", NULL,
        "There are so many types of tokens, each with an embedding that is "
        "added; those of an encoder-decoder are the source's."),
    SPREAD("input", WORDS("input.type"), Source_, "The encoder reads this."),
    ENUM("input.type", input, inputs, Source_, "tokens", NULL,
         "The encoder reads tokens, or rows of numbers that a product takes "
         "to d_model."),
    INT("input.width", input_width, 0, MostWidth, Source_, "0", NULL,
        "Real: a row has this many numbers."),
    BOOL("input.class_token", input_class_token, Source_, "false", NULL,
         "Real: a learned row stands before those of the input, which are "
         "max_len.source - 1 at most."),
    SPREAD("head", WORDS("head.type"), Model,
           "This is made of the last layer's rows."),
    ENUM("head.type", head, heads, Model, "default", NULL,
         "By default an encoder gives rows, a decoder logits; an encoder can "
         "give logits too, pool its rows to one, and classify that one or "
         "each row."),
    ENUM("head.pool", head_pool, pools, Encoder,
         "mean for pool, class for classify", follow_pool,
         "Rows become one by this; class takes the first row."),
    BOOL("head.normalize", head_normalize, Encoder, "false", NULL,
         "Pool: the result has length 1."),
    INT("head.classes", head_classes, 0, MostTokens, Encoder, "0", NULL,
        "Classify, token_classify: there are so many classes."),
    SPREAD("head.dense", WORDS("head.dense.width"), Model,
           "A dense layer of this width stands in the head; 0: none."),
    INT("head.dense.width", head_width, 0, MostWidth, Model, "0", NULL,
        "A dense layer of this width stands in the head, behind pooling, in "
        "front of logits and classes; 0: none."),
    ENUM("head.dense.activation", head_act, acts, Model, "none", NULL,
         "This is f of the dense layer f(W x + b)."),
    BOOL("head.dense.bias", head_bias, Model, "true", NULL,
         "The dense layer adds a bias."),
    BOOL("head.dense.norm", head_norm, Model, "false", NULL,
         "A norm follows the dense layer."),

    ENUM("search.rule", search_rule, rules, Target_, "exact", NULL,
         "Exact stops when no open hypothesis can win any more; recorded "
         "stops when as many have ended as the beam is wide."),
    INT("search.beam", search_beam, 1, 1024, Target_, "4", NULL,
        "The search follows this many hypotheses; 1 is greedy."),
    ENUM("search.penalty", search_penalty, penalties, Target_, "gnmt", NULL,
         "The score is log P, divided by ((5 + L) / 6)^alpha, or by L^alpha, "
         "of L tokens."),
    REAL("search.alpha", search_alpha, 0.0, 10.0, Target_,
         "0.6 for gnmt, 1.0 for power", follow_alpha,
         "This is the exponent of the penalty."),
    IDS("search.prefix", FieldIds, search_prefix, 0, Target_,
        "Every answer begins with these ids; --prefix takes their place."),
    IDS("search.suppress", FieldSequences, suppress, 0, Target_,
        "No answer has these ids and sequences of ids; --suppress adds to "
        "them."),
    IDS("search.suppress_first", FieldIds, suppress_first, 0, Target_,
        "No answer begins with one of these ids, behind the prefix."),
    SPREAD("search.max_output", WORDS("search.max_output.tokens"), Target_,
           "An output has no more tokens than this; the smaller of the limits"
           " that are set, and of max_len.target, holds."),
    INT("search.max_output.tokens", max_output, 1, MostRows, Target_, "", NULL,
        "An output has no more tokens than this."),
    INT("search.max_output.plus", max_output_plus, 0, MostRows, Target_,
        "50 for an encoder-decoder without a limit", follow_plus,
        "An output has at most so many tokens more than the source."),

    SAYS("chat.begin", begin, "A conversation begins with this text."),
    SAYS("chat.system.prefix", system.prefix,
         "This stands before what the system says."),
    SAYS("chat.system.suffix", system.suffix, "This stands behind it."),
    SAYS("chat.system.text", system_text,
         "The system says this, where --system says nothing else."),
    BOOL("chat.system.inside", chat_system_inside, Decoder, "false", NULL,
         "The system's part stands in the first turn, before its text."),
    ENUM(
        "chat.trim", chat_trim, trims, Decoder, "none", NULL,
        "White space at both ends of turns goes, or of the system's text too."),
    SAYS("chat.user.prefix", user.prefix, "This stands before a turn."),
    SAYS("chat.user.suffix", user.suffix, "This stands behind a turn."),
    SAYS("chat.assistant.prefix", assistant.prefix,
         "This stands before an answer."),
    SAYS("chat.assistant.suffix", assistant.suffix,
         "This stands behind an answer, where another turn follows."),

    ROW("dtype", FieldDtypes, offsetof(Spec, dtype), 0, dtype_word, 0, 0,
        AllKinds, "f32", NULL,
        "Matrices of weights are stored so, all of them, or by names: see "
        "below. All other weights are f32."),
    ENUM("arithmetic", arithmetic, arithmetics, AllKinds, "f32", NULL,
         "Products with weights in integers compute in this: see below."),
    PATH("weights", weights, AllKinds,
         "This .safetensors file, relative to the spec, has the weights; "
         "without one they are seeded random numbers."),
    ROW("names", FieldNames, 0, 0, NULL, 0, 0, AllKinds, "", NULL,
        "The weights have these names in the file; see below."),
    ROW("unused", FieldPatterns, offsetof(Spec, unused), 0, NULL, 0, 0,
        AllKinds, "", NULL,
        "These tensors of the file are known and not used: no warning names "
        "them. A * stands for any text, as in `pooler.*`."),
};
const int n_fields = sizeof fields / sizeof *fields;

/* ------------------------------------------------------- rows by keys --- */
int field_find(const char *key)
{
    for (int i = 0; i < n_fields; i++)
        if (!strcmp(fields[i].key, key))
            return i;
    return -1;
}

int field_row(const char *key)
{
    int row = field_find(key);
    if (row < 0)
        die("no field is named %s", key);
    return row;
}

bool field_below(const char *key, const char *group)
{
    size_t n = strlen(group);
    return !strncmp(key, group, n) && (n == 0 || key[n] == '.');
}
