/* layers.c: reads `layers`, the pattern of a stack. Each row is resolved as a
 * copy of the spec with the row's own fields written over it, so parsing,
 * defaults and checks are the same for rows. */
#include <string.h>

#include "spec/fields/fields.h"

static const Pos nowhere;

static const char *const side_word[] = { "encoder", "decoder" };

typedef struct { /* the pattern of one stack */
    Arena *arena;
    Spec *spec;
    const Written *written;
    Side side;
    VEC(const Yaml *) row; /* the rows, each a map */
    int64_t *repeat;       /* number of layers of each row; 0: not written */
    const Spec **read;     /* resolved spec of each row */
} Pattern;

/* ---- reading ---- */
static bool take_row(Pattern *p, const Yaml *row)
{
    if (row->kind == YamlMap) {
        vec_push(p->arena, &p->row, row);
        return true;
    }
    error_at(row->pos, "a row of layers is a map of fields");
    note_at(nowhere,
            "write {masking: [causal, {window: 512}]}, or {} for a layer "
            "without changes");
    return false;
}

/* Takes a list of rows, or one row for all layers. */
static bool take_rows(Pattern *p, const Yaml *value)
{
    bool good = true;

    if (value->kind == YamlMap)
        return take_row(p, value);
    if (value->kind != YamlList || value->items.n == 0) {
        error_at(value->pos, "layers must be a list of rows, or one row");
        return false;
    }
    for (int i = 0; i < value->items.n; i++)
        good &= take_row(p, value->items.at[i]);
    return good;
}

static bool read_repeat(Pattern *p, int row, const Yaml *value)
{
    int64_t n;

    if (value->kind != YamlScalar || !parse_int(value->text, &n) || n < 1
        || n > p->spec->side[p->side].N) {
        error_at(value->pos,
                 "repeat must be an integer from 1 to N, which is "
                 "%lld",
                 (long long)p->spec->side[p->side].N);
        return false;
    }
    p->repeat[row] = n;
    return true;
}

/* True if layers can differ in the field or, for a key that sets several
 * fields, in all of them. */
static bool is_of_layers(const Field *f)
{
    if (f->type != FieldSpread || field_of_layers(f->key))
        return field_of_layers(f->key);
    for (int i = 0; f->words[i]; i++)
        if (!field_of_layers(f->words[i]))
            return false;
    return true;
}

/* Reports fields in a row that must be the same in all layers. */
static bool refuse_others(const Written *row, const Written *all)
{
    bool good = true;

    for (int i = 0; i < n_fields; i++) {
        const Yaml *value = row->value[i];
        if (value == all->value[i] || !value || row->spread[i]
            || is_of_layers(&fields[i]))
            continue;
        error_at(value->pos, "%s is the same for all layers of a model",
                 fields[i].key);
        note_at(nowhere, "write it outside of layers");
        good = false;
    }
    return good;
}

/* Rejects a row with another type of positions that are added to the
 * embeddings, because layers do not add positions. */
static bool check_row_positions(const Pattern *p, const Spec *row)
{
    const bool adds = row->positions == PosSinusoidal
                   || row->positions == PosLearned;

    if (!adds || row->positions == p->spec->positions)
        return true;
    error_at(spec_pos(row, "positions.type"),
             "positions of this type are added to the embeddings, not in a "
             "layer");
    note_at(nowhere, "a row may have rotary, alibi, relative, or none");
    return false;
}

static bool read_layer_row(Pattern *p, int i)
{
    const Yaml *repeat;
    const Written *w = written_over(p->arena, p->written, p->row.at[i], p->side,
                                    &repeat);
    const int errors = error_count();

    if ((repeat && !read_repeat(p, i, repeat)) || error_count() != errors
        || !refuse_others(w, p->written))
        return false;
    const Spec *row = spec_resolve(p->arena, p->spec->path, w, 1u << p->side);
    p->read[i] = row;
    return row && check_row_positions(p, row);
}

/* ---- counting ---- */

/* Checks that the rows describe N layers. Sets *counted if some row has a
 * repeat. */
static bool check_counts(const Pattern *p, const Yaml *value, bool *counted)
{
    const int64_t N = p->spec->side[p->side].N;
    int64_t sum = 0;

    *counted = false;
    for (int i = 0; i < p->row.n; i++) {
        *counted |= p->repeat[i] > 0;
        sum += p->repeat[i] > 0 ? p->repeat[i] : 1;
    }
    if (*counted ? sum == N : p->row.n <= N)
        return true;
    error_at(value->pos, "the rows describe %lld layers, but N is %lld",
             (long long)sum, (long long)N);
    note_at(spec_pos(p->spec, side_key(p->spec, "N", p->side)),
            *counted ? "with repeat they must add up to N; without it they are "
                       "repeated up to N; N is here"
                     : "leave rows out; N is here");
    return false;
}

/* ---- caches ---- */
CacheForm spec_cache(const Spec *s, bool self)
{
    const SpecSide *side = &s->side[SideDecoder];
    const MaskSpec *m = &side->mask;
    CacheForm form = { 0, side->h_kv, side->d_k, side->d_v };

    if (!self)
        return form;
    form.window = m->window;
    if (m->block && (!m->window || m->block < m->window))
        form.window = m->block;
    if (form.window >= side->max_len)
        form.window = 0; /* max_len already limits the cache */
    return form;
}

bool same_cache(CacheForm a, CacheForm b)
{
    return a.window == b.window && a.h_kv == b.h_kv && a.d_k == b.d_k
        && a.d_v == b.d_v;
}

static bool has_cache(const Spec *s, bool self)
{
    return self ? s->mix == MixAttention
                : s->kind == KindEncoderDecoder && s->attention_cross;
}

/* Returns the number of distinct caches that the rows need; at least 1, because
 * a cache may be empty. */
static int count_caches(const Pattern *p, bool self)
{
    int n = 0;

    for (int i = 0; i < p->row.n; i++) {
        bool is_new = has_cache(p->read[i], self);
        for (int k = 0; k < i; k++)
            if (has_cache(p->read[k], self)
                && same_cache(spec_cache(p->read[k], self),
                              spec_cache(p->read[i], self)))
                is_new = false;
        n += is_new;
    }
    return n > 0 ? n : 1;
}

static bool check_caches(const Pattern *p, const Yaml *value)
{
    const int n = count_caches(p, true) + count_caches(p, false);

    if (p->side != SideDecoder || n <= ATTN_CACHES)
        return true;
    error_at(value->pos,
             "the rows have %d combinations of window, h_kv, d_k and d_v; "
             "at most %d are allowed",
             n, ATTN_CACHES);
    note_at(nowhere, "give more rows the same values");
    return false;
}

/* ---- text ---- */

/* True if layers of this side have the field. */
static bool is_reported(const Field *f, Side side)
{
    const size_t n = strlen(f->key), w = strlen(side_word[!side]);
    const bool others = n > w && !strcmp(f->key + n - w, side_word[!side]);

    return f->type < FieldNoValue && f->type != FieldLayers && !others
        && field_of_layers(f->key);
}

/* Returns the fields in which a row differs from the spec, e.g.
 * "{positions.base: 10000}". */
static const char *row_text(const Pattern *p, const Spec *row)
{
    Arena *a = p->arena;
    Buffer b = { .arena = a };

    buffer_printf(&b, "{");
    for (int i = 0; i < n_fields; i++) {
        const Field *f = &fields[i];
        if (f->kinds & 1u << row->kind && is_reported(f, p->side)
            && field_has_meaning(a, row, f->key)
            && !field_same(a, f, row, p->spec))
            buffer_printf(&b, "%s%s: %s", b.n > 1 ? ", " : "", f->key,
                          field_text(a, f, row));
    }
    buffer_printf(&b, "}");
    return b.at;
}

/* Sets the Spec of each layer. A row that changes nothing uses the spec itself;
 * a stack with only such rows has no pattern. */
static void settle(Pattern *p, bool counted, Buffer *text)
{
    Spec *s = p->spec;
    const int64_t N = s->side[p->side].N;
    const Spec **layer = arena_alloc(p->arena, (size_t)N * sizeof *layer);
    bool any = false;

    for (int i = 0; i < p->row.n; i++)
        if (!strcmp(row_text(p, p->read[i]), "{}"))
            p->read[i] = s;
    for (int64_t l = 0, i = 0, left = p->repeat[0]; l < N; l++) {
        layer[l] = p->read[i];
        any |= layer[l] != s;
        if (--left <= 0) {
            i = (i + 1) % p->row.n;
            left = p->repeat[i];
        }
    }
    if (!any)
        return;
    s->layer[p->side] = layer;
    buffer_printf(text, "%s%s: ", text->n ? "; " : "", side_word[p->side]);
    for (int i = 0; i < p->row.n; i++)
        buffer_printf(text, counted ? "%s%lld x %s" : "%s%.0lld%s",
                      i ? ", " : "", (long long)(counted ? p->repeat[i] : 0),
                      row_text(p, p->read[i]));
}

static bool read_pattern(Pattern *p, const Yaml *value, Buffer *text)
{
    bool good = take_rows(p, value), counted;
    const size_t n = (size_t)p->row.n + 1;

    p->repeat = arena_alloc(p->arena, n * sizeof *p->repeat);
    p->read = arena_alloc(p->arena, n * sizeof *p->read);
    for (int i = 0; i < p->row.n && good; i++)
        good = read_layer_row(p, i);
    if (!good || !check_counts(p, value, &counted) || !check_caches(p, value))
        return false;
    for (int i = 0; counted && i < p->row.n; i++)
        if (!p->repeat[i])
            p->repeat[i] = 1;
    settle(p, counted, text);
    return true;
}

/* ---- the whole ---- */

/* Rejects a number as the value, as in layers: 6. */
static void refuse_count(const Yaml *value)
{
    int64_t n;

    error_at(value->pos, "layers must be a list of rows, or one row");
    if (parse_int(value->text, &n))
        note_at(nowhere, "did you mean N: %lld?", (long long)n);
}

/* True for a map {encoder: rows, decoder: rows}. check_sides() rejects maps
 * that also have other keys. */
static bool has_sides(const Yaml *value)
{
    return value->kind == YamlMap
        && (yaml_get(value, side_word[SideEncoder])
            || yaml_get(value, side_word[SideDecoder]));
}

static bool check_sides(const Yaml *value)
{
    bool good = true;

    for (int i = 0; i < value->keys.n; i++) {
        const Yaml *key = value->keys.at[i];
        if (!strcmp(key->text, side_word[SideEncoder])
            || !strcmp(key->text, side_word[SideDecoder]))
            continue;
        error_at(key->pos, "'%s' cannot be next to encoder or decoder",
                 key->text);
        note_at(nowhere,
                "layers must have the keys encoder and decoder, or those of "
                "one row");
        good = false;
    }
    return good;
}

static const Yaml *of_side(const Yaml *value, Side side)
{
    return has_sides(value) ? yaml_get(value, side_word[side]) : value;
}

unsigned patterned_sides(const Written *w)
{
    const Yaml *value = w->value[field_row("layers")];
    unsigned sides = 0;

    for (Side i = SideEncoder; value && i <= SideDecoder; i++)
        sides |= of_side(value, i) ? 1u << i : 0;
    return sides;
}

void read_layers(Arena *a, Spec *s, const Written *w)
{
    const Yaml *value = w->value[field_row("layers")];
    Buffer text = { .arena = a };

    if (!value)
        return;
    if (value->kind == YamlScalar) {
        refuse_count(value);
        return;
    }
    if (has_sides(value) && !check_sides(value))
        return;
    for (Side i = SideEncoder; i <= SideDecoder; i++) {
        const Yaml *own = of_side(value, i);
        if (!own)
            continue;
        if (s->side[i].N > 0)
            read_pattern(
                &(Pattern){ .arena = a, .spec = s, .written = w, .side = i },
                own, &text);
        else if (own != value
                 && own->pos.src->rank >= spec_pos(s, "kind").src->rank) {
            error_at(own->pos, "this kind of model has no %s", side_word[i]);
            note_at(spec_pos(s, "kind"), "kind is here");
        }
    }
    s->layers = text.n ? text.at : NULL;
}
