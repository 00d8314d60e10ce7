/* field_links.c: dependencies between fields: from which fields a default is
 * derived, and for which values of an enum field another field applies. If a
 * later spec or --set changes the enum field, fields that no longer apply are
 * dropped silently. If it changes a field from which a default is derived, a
 * value written earlier is kept, with a warning. */
#include <string.h>

#include "spec/fields/fields.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define FOLLOWS(key, ...) { key, WORDS(__VA_ARGS__), NULL, NULL }
#define SCALING "positions.scaling.type"
#define OF(key, of, ...) { key, NULL, of, WORDS(__VA_ARGS__) }

const FieldLink field_links[] = {
    FOLLOWS("h_kv.encoder", "h.encoder"),
    FOLLOWS("h_kv.decoder", "h.decoder"),
    FOLLOWS("d_k.encoder", "d_model", "h.encoder"),
    FOLLOWS("d_k.decoder", "d_model", "h.decoder"),
    FOLLOWS("d_v.encoder", "d_model", "h.encoder"),
    FOLLOWS("d_v.decoder", "d_model", "h.decoder"),
    FOLLOWS("vocab.source.size", "vocab.source.file"),
    FOLLOWS("vocab.target.size", "vocab.target.file"),
    FOLLOWS("vocab.append_end", "vocab.tokens.end"),
    FOLLOWS("positions.dims", "d_k.encoder", "d_k.decoder",
            "attention.latent.rope_dims"),
    FOLLOWS("attention.latent.eps", "norm.eps"),
    FOLLOWS("positions.scaling.attention_factor", "positions.scaling.factor",
            "positions.scaling.mscale", "positions.scaling.mscale_all_dim",
            "positions.scaling.original_max_len"),
    FOLLOWS("mix.width", "d_model", "mix.direction"),
    FOLLOWS("norm.bias", "norm.type"),
    FOLLOWS("norm.final", "norm.place"),
    FOLLOWS("embedding.width", "d_model"),
    FOLLOWS("embedding.project", "embedding.width", "d_model"),
    FOLLOWS("bias.q", "projections.q"),
    FOLLOWS("bias.k", "projections.k"),
    FOLLOWS("bias.v", "projections.v"),
    FOLLOWS("bias.o", "projections.o"),
    FOLLOWS("bias.w2", "bias.ffn"),
    FOLLOWS("attention.scale", "d_k.encoder", "d_k.decoder"),
    FOLLOWS("ffn.groups_chosen", "ffn.groups"),
    FOLLOWS("head.pool", "head.type"),
    FOLLOWS("search.alpha", "search.penalty"),

    OF("positions.base", "positions.type", "sinusoidal", "rotary"),
    OF("positions.first", "positions.type", "sinusoidal", "learned"),
    OF("positions.layout", "positions.type", "sinusoidal", "rotary"),
    OF("positions.exponent", "positions.type", "sinusoidal"),
    OF("positions.dims", "positions.type", "rotary"),
    OF("positions.scaling.step", "positions.type", "rotary", "alibi"),
    OF("positions.scaling.type", "positions.type", "rotary"),
    OF("positions.scaling.factor", SCALING, "dynamic", "llama3", "yarn",
       "longrope"),
    OF("positions.scaling.original_max_len", SCALING, "dynamic", "llama3",
       "yarn", "longrope"),
    OF("positions.scaling.low_freq_factor", SCALING, "llama3"),
    OF("positions.scaling.high_freq_factor", SCALING, "llama3"),
    OF("positions.scaling.beta_fast", SCALING, "yarn"),
    OF("positions.scaling.beta_slow", SCALING, "yarn"),
    OF("positions.scaling.mscale", SCALING, "yarn"),
    OF("positions.scaling.mscale_all_dim", SCALING, "yarn"),
    OF("positions.scaling.truncate", SCALING, "yarn"),
    OF("positions.scaling.short_factor", SCALING, "longrope"),
    OF("positions.scaling.long_factor", SCALING, "longrope"),
    OF("positions.scaling.attention_factor", SCALING, "yarn", "longrope"),
    OF("positions.scaling.query_log", SCALING, "dynamic", "llama3", "yarn",
       "longrope"),
    OF("positions.scores", "positions.type", "sinusoidal", "learned", "none",
       "rotary"),
    OF("positions.buckets", "positions.type", "relative"),
    OF("positions.buckets", "positions.scores", "relative"),
    OF("positions.max_distance", "positions.type", "relative"),
    OF("positions.max_distance", "positions.scores", "relative"),
    OF("h.encoder", "mix.type", "attention"),
    OF("h.decoder", "mix.type", "attention"),
    OF("h.decoder", "kind", "encoder-decoder"),
    OF("mix.cell", "mix.type", "recurrent"),
    OF("mix.activation", "mix.cell", "simple"),
    OF("mix.direction", "mix.type", "recurrent"),
    OF("mix.width", "mix.type", "recurrent"),
    OF("mix.kernel", "mix.type", "convolution"),
    OF("mix.dilation", "mix.type", "convolution"),
    OF("mix.depthwise", "mix.type", "convolution"),
    OF("mix.pointwise", "mix.type", "convolution"),
    OF("mix.gated", "mix.type", "convolution"),
    OF("mix.inner", "mix.type", "convolution"),
    OF("mix.start", "mix.type", "recurrent"),
    OF("norm.bias", "norm.type", "layer"),
    OF("norm.again", "norm.place", "post"),
    OF("norm.qk_rotated", "norm.qk", "true", "width", "each"),
    OF("attention.sinks", "attention.normalizer", "softmax"),
    OF("residual.scale", "residual.type", "add"),
    OF("residual.learned", "residual.type", "add"),
    OF("d_ff.encoder", "ffn.type", "dense", "experts"),
    OF("d_ff.decoder", "ffn.type", "dense", "experts"),
    OF("ffn.experts", "ffn.type", "experts"),
    OF("ffn.chosen", "ffn.type", "experts"),
    OF("ffn.softmax", "ffn.type", "experts"),
    OF("ffn.normalize", "ffn.type", "experts"),
    OF("ffn.factor", "ffn.type", "experts"),
    OF("ffn.router_bias", "ffn.type", "experts"),
    OF("ffn.correction", "ffn.type", "experts"),
    OF("ffn.groups", "ffn.type", "experts"),
    OF("ffn.groups_chosen", "ffn.type", "experts"),
    OF("ffn.group_score", "ffn.type", "experts"),
    OF("ffn.shared", "ffn.type", "experts"),
    OF("ffn.shared_gate", "ffn.type", "experts"),
    OF("embedding.bias", "embedding.project", "sum", "tokens"),
    OF("embedding.types", "input.type", "tokens"),
    OF("input.width", "input.type", "real"),
    OF("input.class_token", "input.type", "real"),
    OF("input.distillation_token", "input.type", "real"),
    OF("input.kernels", "input.type", "real"),
    OF("input.strides", "input.type", "real"),
    OF("input.activation", "input.type", "real"),
    OF("input.image", "input.type", "real"),
    OF("input.patch", "input.type", "real"),
    OF("head.pool", "head.type", "pool", "classify", "logits"),
    OF("head.dense.pooled", "head.type", "pool", "classify"),
    OF("head.normalize", "head.type", "pool", "rows", "default"),
    OF("head.activation", "head.type", "logits", "classify", "token_classify"),
    OF("head.score", "head.type", "logits"),
    OF("head.classes", "head.type", "classify", "token_classify"),
    OF("head.bias", "head.type", "classify", "token_classify"),
    OF("head.query.length", "head.type", "rows", "default"),
    OF("head.query.token", "head.type", "rows", "default"),
    OF("head.query.attend", "head.type", "rows", "default"),
    OF("head.query.cut", "head.type", "rows", "default"),
    OF("head.query.prefix", "head.type", "rows", "default"),
    OF("head.document.length", "head.type", "rows", "default"),
    OF("head.document.prefix", "head.type", "rows", "default"),
    OF("head.document.skip", "head.type", "rows", "default"),
    OF("search.alpha", "search.penalty", "gnmt", "power"),
};
const int n_field_links = sizeof field_links / sizeof *field_links;

/* Fields that a row of `layers` may set, together with all fields below
 * them. */
static const char *const of_layers[] = {
    "masking",    "h",
    "h_kv",       "d_k",
    "d_v",        "d_ff",
    "mix",        "ffn",
    "activation", "attention",
    "positions",  "bias.q",
    "bias.k",     "bias.v",
    "bias.o",     "bias.mix",
    "bias.ffn",   "bias.w2",
    "residual",   "parallel",
    "norm.type",  "norm.place",
    "norm.bias",  "norm.eps",
    "norm.qk",    "norm.attention",
    "norm.ffn",   "norm.qk_rotated",
};

bool field_of_layers(const char *key)
{
    for (size_t i = 0; i < sizeof of_layers / sizeof *of_layers; i++)
        if (!strcmp(key, of_layers[i]) || field_below(key, of_layers[i]))
            return true;
    return false;
}

bool field_has_meaning(Arena *a, const Spec *s, const char *key)
{
    bool linked = false;

    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        if (!link->of || strcmp(link->key, key))
            continue;
        const Field *of = &fields[field_row(link->of)];
        linked = true;
        if (find_word(link->when, field_text(a, of, s)) >= 0)
            return true;
    }
    return !linked;
}

/* ---- details ---- */
static int rank_of(Pos pos)
{
    return pos.src->rank;
}

/* Returns the current value of the link's enum field; NULL if it has none. */
static const char *form_of(const Written *w, const FieldLink *link)
{
    const int of = field_row(link->of);

    return w->value[of] ? w->value[of]->text : fields[of].preset;
}

/* True if a link of the same field, other than `but`, says that the field
 * applies. */
static bool has_meaning(const Written *w, const FieldLink *but)
{
    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        const bool same = link->of && !strcmp(link->key, but->key);
        const char *word = same && link != but ? form_of(w, link) : NULL;
        if (word && find_word(link->when, word) >= 0)
            return true;
    }
    return false;
}

bool means_nothing(const Written *w, const char *key)
{
    const FieldLink of_key = { .key = key };
    bool linked = false;

    for (int i = 0; i < n_field_links; i++)
        linked |= field_links[i].of && !strcmp(field_links[i].key, key);
    return linked && !has_meaning(w, &of_key);
}

/* True if the field was written before a later file or option changed the enum
 * field to a value for which it does not apply. */
static bool given_up(const Written *w, const FieldLink *link)
{
    const int row = field_row(link->key), of = field_row(link->of);
    const Pos at = w->value[of] ? w->value[of]->pos : w->unset[of];
    const char *word = form_of(w, link);

    return w->value[row] && at.src && word
        && rank_of(w->value[row]->pos) < rank_of(at)
        && find_word(fields[of].words, word) >= 0
        && find_word(link->when, word) < 0 && !has_meaning(w, link);
}

/* Drops fields that no longer apply. Fields that depend on a dropped field
 * follow it in the table, so they are dropped too. */
void drop_details(Written *w)
{
    for (int i = 0; i < n_field_links; i++) {
        const FieldLink *link = &field_links[i];
        if (!link->of || !given_up(w, link))
            continue;
        const int row = field_row(link->key), of = field_row(link->of);
        w->unset[row] = w->value[of] ? w->value[of]->pos : w->unset[of];
        w->value[row] = NULL;
    }
}

/* ---- what stays ---- */

/* True if another source replaced the value by a different one. */
static bool changed(const Written *w, int row)
{
    const Yaml *now = w->value[row], *old = w->under[row];

    return now && old
        && (now->kind != YamlScalar || old->kind != YamlScalar
            || strcmp(now->text, old->text));
}

/* Returns a field that was changed after `rank` and from which the row's
 * default is derived, directly or through other defaults; -1: none. */
static int changed_source(const Written *w, int row, int rank)
{
    for (int i = 0; i < n_field_links; i++) {
        const char *const *from = field_links[i].follows;
        if (!from || field_row(field_links[i].key) != row)
            continue;
        for (; *from; from++) {
            int of = field_row(*from);
            if (changed(w, of) && rank_of(w->value[of]->pos) > rank)
                return of;
            of = w->value[of] ? -1 : changed_source(w, of, rank);
            if (of >= 0)
                return of;
        }
    }
    return -1;
}

/* True if the default differs from the written value. */
static bool differs(Arena *a, const Spec *s, int row)
{
    const Field *f = &fields[row];
    Spec by_default = *s;

    if (f->type == FieldInt || f->type == FieldReal)
        memset((char *)&by_default + f->at, 0, sizeof(int64_t));
    field_absent(f, &by_default);
    field_default(a, f, &by_default);
    return !field_same(a, f, &by_default, s);
}

/* Returns the row whose key the value was written under. */
static int row_written(const Written *w, int row)
{
    for (int i = 0; w->spread[row] && i < row; i++)
        if (w->value[i] == w->value[row])
            return i;
    return row;
}

void warn_of_what_stays(Arena *a, const Written *w, const FieldState *state,
                        const Spec *s)
{
    const char *which = "", *sets = "";
    int last = -1, source = -1;

    for (int i = 0; i < n_fields; i++) {
        const int row = row_written(w, i),
                  from = state[i] == StateSet
                           ? changed_source(w, i, rank_of(w->value[i]->pos))
                           : -1;
        if (from < 0 || row == last || !differs(a, s, i))
            continue;
        const char *more = source < 0 ? "" : ", ", *key = fields[row].key;
        const Pos at = w->value[row]->pos;
        which = arena_printf(a, "%s%s%s (%s:%d)", which, more, key,
                             at.src->name, at.line);
        sets = arena_printf(a, "%s%s%s=", sets, *more ? "," : "", key);
        source = source < 0 ? row_written(w, from) : source;
        last = row;
    }
    if (source >= 0) { /* once, because a command may load a spec many times */
        const Pos at = w->value[source]->pos;
        warning_once(
            "%s:%d:%d: %s changes, but fields that usually follow it stay as "
            "written: %s; --set %s lets them follow",
            at.src->name, at.line, at.col, fields[source].key, which, sets);
    }
}
