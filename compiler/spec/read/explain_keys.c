/* explain_keys.c: explains unknown keys, using the tables of hints. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <string.h>
#include <strings.h>

#include "spec/values/hints.h"

static const Pos nowhere;

typedef struct { /* unknown keys to remove for the same reason */
    const char *why;
    VEC(const KeyValue *) keys;
} LeftOut;

typedef struct {
    Unknown *u;
    Arena *arena;
    const Family *family; /* NULL: no family was named */
    int kind;             /* ModelKind; -1: unknown */
    bool untied;
    VEC(char *) lines;     /* lines to write in place of one key */
    VEC(LeftOut) left_out; /* one element per reason */
} Explain;

/* ---- values ---- */
static bool is_text(const Yaml *v, const char *text)
{
    return v->kind == YamlScalar && !strcasecmp(v->text, text);
}

static bool is_null(const Yaml *v)
{
    return v->kind == YamlScalar && !v->quoted
        && (!*v->text || is_text(v, "null") || is_text(v, "~"));
}

static void move_to(Yaml *v, Pos pos)
{
    v->pos = pos;
    for (int i = 0; i < v->items.n; i++)
        move_to(v->items.at[i], pos);
}

static const Yaml *scalar_of(Arena *a, const char *text, Pos pos)
{
    Yaml *v = arena_alloc(a, sizeof *v);

    *v = (Yaml){ .kind = YamlScalar, .text = text };
    v->pos = pos;
    return v;
}

/* Returns a value from the tables, positioned as if written at `pos`. */
static const Yaml *hint_value(Arena *a, const char *text, Pos pos)
{
    Source *src = arena_alloc(a, sizeof *src);

    if (*text != '[' && *text != '{')
        return scalar_of(a, text, pos);
    *src = (Source){ "hint", text, strlen(text), 0 };
    Yaml *v = yaml_parse(a, src, 0);
    if (!v)
        die("a hint's value is no YAML: %s", text);
    move_to(v, pos);
    return v;
}

/* True if a value at `path` sets `key` and nothing else. */
static bool sets_only(const char *path, const char *key)
{
    const int row = field_find(path); /* -1: a group of fields */
    const Field *f = &fields[row < 0 ? 0 : row];

    return f->type == FieldSpread && !f->words[1] && !strcmp(f->words[0], key);
}

/* Returns the value that the field has so far, written or from a hint. A
 * written value counts only if it is from file `of` (NULL: any file). */
static const Yaml *value_at(const Explain *e, const char *key, const Source *of)
{
    const int row = field_row(key);
    const Yaml *v = e->u->w->value[row];

    for (int i = 0; i < e->u->meant.n; i++) {
        const KeyValue *m = &e->u->meant.at[i];
        if (!strcmp(m->path, key) || sets_only(m->path, key)
            || sets_only(key, m->path))
            return m->value;
    }
    if (!v && fields[row].type == FieldSpread && !fields[row].words[1])
        v = e->u->w->value[field_row(fields[row].words[0])];
    return v && (!of || v->pos.src == of) ? v : NULL;
}

/* True if the field itself was set; a value written for both sides does not
 * count. */
static bool is_given(const Explain *e, const char *key, const Source *of)
{
    const int row = field_row(key);
    const char *dot = strrchr(key, '.');
    const char *above = dot ? arena_strndup(e->arena, key, (size_t)(dot - key))
                            : NULL;

    if (e->u->w->spread[row] && above && field_find(above) >= 0
        && !sets_only(above, key))
        return false;
    return value_at(e, key, of) != NULL;
}

static double number_at(const Explain *e, const char *key)
{
    const Yaml *v = value_at(e, key, NULL);
    double x = 0;

    return v && v->kind == YamlScalar && parse_real(v->text, &x) ? x : 0;
}

/* ---- what to say ---- */
static void leave_out(Explain *e, const KeyValue *k, const char *why)
{
    LeftOut *group = NULL;

    for (int i = 0; i < e->left_out.n; i++)
        if (!strcmp(e->left_out.at[i].why, why))
            group = &e->left_out.at[i];
    if (!group) {
        vec_push(e->arena, &e->left_out, ((LeftOut){ .why = why }));
        group = &e->left_out.at[e->left_out.n - 1];
    }
    vec_push(e->arena, &group->keys, k);
}

static void say_left_out(Explain *e, const LeftOut *group)
{
    const KeyValue *first = group->keys.at[0];
    char *more = arena_strdup(e->arena, "");

    for (int i = 1; i < group->keys.n; i++)
        more = arena_printf(e->arena, "%s, '%s' (line %d)", more,
                            quote(group->keys.at[i]->path),
                            group->keys.at[i]->key->pos.line);
    error_at(first->key->pos, "unknown key%s '%s'%s", *more ? "s" : "",
             quote(first->path), more);
    note_at(nowhere, "leave %s out: %s", *more ? "them" : "it", group->why);
}

/* Returns a line shortened to fit in the map that contains the key. Sets *top
 * if the line belongs at the top of the spec instead. */
static const char *from_here(Explain *e, const KeyValue *k, const char *line,
                             bool *top)
{
    const char *dot = strrchr(k->path, '.');
    const char *group = dot ? arena_strndup(e->arena, k->path,
                                            (size_t)(dot - k->path))
                            : "";

    if (*group && !strcmp(k->key->text, k->path))
        return line; /* the key was written as a path, e.g. norm.epsilon */
    if (*group && field_below(line, group))
        return line + strlen(group) + 1;
    *top = *top || *group;
    return line;
}

static void say_lines(Explain *e, const KeyValue *k)
{
    const bool option = k->key->pos.src->rank > 0;
    char *text = arena_strdup(e->arena, "");
    bool top = false;

    for (int i = 0; i < e->lines.n; i++) {
        const char *line = from_here(e, k, e->lines.at[i], &top);
        const size_t key = strcspn(line, ":");
        text = option
                 ? arena_printf(e->arena, "%s%s`%.*s=%s`", text, i ? ", " : "",
                                (int)key, line, line + key + 2)
                 : arena_printf(e->arena, "%s%s`%s`", text, i ? ", " : "",
                                line);
    }
    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    note_at(nowhere, "did you mean %s%s?", text,
            top && !option ? ", at the top of the spec" : "");
}

/* ---- lines ---- */
static bool off(const Explain *e, const char *key)
{
    return e->kind >= 0 && !(fields[field_row(key)].kinds & 1u << e->kind);
}

/* Adds a line for the field. Returns false if the file sets the field already
 * or this kind of model lacks it. */
static bool put(Explain *e, const KeyValue *k, const char *key,
                const Yaml *value)
{
    if (off(e, key) || is_given(e, key, k->key->pos.src))
        return false;
    if (value->kind == YamlScalar)
        vec_push(e->arena, &e->lines,
                 arena_printf(e->arena, "%s: %s", key, value->text));
    else
        vec_push(e->arena, &e->lines, arena_printf(e->arena, "%s: ..", key));
    vec_push(e->arena, &e->u->meant, ((KeyValue){ key, k->key, value }));
    return true;
}

/* Adds a complete line, "key: value", under the same conditions as put(). */
static bool put_line(Explain *e, const KeyValue *k, const char *line)
{
    const size_t n = strcspn(line, ":");
    const char *key = arena_strndup(e->arena, line, n);

    if (off(e, key) || is_given(e, key, k->key->pos.src))
        return false;
    vec_push(e->arena, &e->lines, arena_strdup(e->arena, line));
    vec_push(e->arena, &e->u->meant,
             ((KeyValue){ key, k->key,
                          hint_value(e->arena, line + n + 2, k->value->pos) }));
    return true;
}

/* Reports the lines to write instead of the key, or that it can be removed. */
static void finish(Explain *e, const KeyValue *k, const char *ours)
{
    const size_t n = strcspn(ours, " :");
    const char *key = arena_strndup(e->arena, ours, n);

    if (e->lines.n)
        say_lines(e, k);
    else if (off(e, key))
        leave_out(e, k,
                  arena_printf(e->arena,
                               "%s does not apply to this kind of model", key));
    else
        leave_out(e, k, arena_printf(e->arena, "%s is set already", key));
}

/* Returns another tool's value as a spec writes it. */
static const Yaml *translated(const Explain *e, const char *key, const Yaml *v)
{
    const char *text = v->kind == YamlScalar ? v->text : NULL;
    const char *word = text ? hint_word(key, text) : NULL;
    int64_t n;

    if (!text)
        return v;
    text = word ? word : text;
    for (int i = 0; i < ActCount && e->family && e->family->gated; i++)
        if (!strcmp(key, "activation") && act_text[i].gated
            && !strcmp(text, act_text[i].plain))
            text = act_text[i].gated;
    if (!strcmp(key, "max_len") && e->family && parse_int(text, &n))
        text = arena_printf(e->arena, "%lld",
                            (long long)(n - e->family->first));
    return scalar_of(e->arena, text, v->pos);
}

/* Returns the key for the side that the path names: N.encoder for
 * encoder.layers. */
static const char *key_of_side(Explain *e, const KeyValue *k, const char *key)
{
    static const char *const sides[] = { "encoder", "decoder" };

    for (int i = 0; i < 2; i++) {
        const char *at = strstr(k->path, sides[i]);
        const char *own = arena_printf(e->arena, "%s.%s", key, sides[i]);
        if (at && (at == k->path || at[-1] == '.') && at[7] == '.'
            && field_find(own) >= 0)
            return own;
    }
    return key;
}

static void explain_value(Explain *e, const KeyValue *k, const Hint *h)
{
    for (const char *at = h->ours; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        const char *key = key_of_side(e, k, arena_strndup(e->arena, at, n));
        put(e, k, key, translated(e, key, k->value));
        at += n;
    }
    if (e->lines.n && h->more)
        put_line(e, k, h->more);
    finish(e, k, h->ours);
}

static void explain_true(Explain *e, const KeyValue *k, const Hint *h)
{
    const bool no = is_text(k->value, "false");

    if (no && !h->more) {
        leave_out(e, k, "false is the default");
        return;
    }
    put_line(e, k, no ? h->more : h->ours);
    finish(e, k, h->ours);
    for (int i = 0; k->value->kind == YamlMap && i < k->value->keys.n; i++) {
        const Yaml *key = k->value->keys.at[i]; /* e.g. {theta: 10000} */
        vec_push(e->arena, &e->u->unknown,
                 ((KeyValue){
                     arena_printf(e->arena, "%s.%s", k->path, key->text), key,
                     k->value->items.at[i] }));
    }
}

static void explain_tie(Explain *e, const KeyValue *k)
{
    static const char *const lines[] = {
        [KindEncoderDecoder] = "embedding.tie: [source, target, logits]",
        [KindEncoder] = "embedding.tie: [source, logits]",
        [KindDecoder] = "embedding.tie: [target, logits]",
    };

    if (is_text(k->value, "false")) {
        leave_out(e, k, "false is the default");
    } else if (e->kind == KindEncoder || e->kind == KindAttention) {
        leave_out(e, k, "this kind of model has nothing to tie");
    } else {
        put_line(e, k, lines[e->kind < 0 ? KindDecoder : e->kind]);
        finish(e, k, "embedding.tie");
    }
}

static void explain_factor(Explain *e, const KeyValue *k, const Hint *h)
{
    const double d_model = number_at(e, "d_model");
    double factor;

    if (d_model > 0 && k->value->kind == YamlScalar
        && parse_real(k->value->text, &factor)) {
        put_line(e, k,
                 arena_printf(e->arena, "%s: %.0f", h->ours, factor * d_model));
        finish(e, k, h->ours);
        return;
    }
    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    note_at(nowhere, "set %s to this value times d_model", h->ours);
}

static void explain_format(Explain *e, const KeyValue *k, const Hint *h)
{
    const char *hole = strchr(h->ours, '%');
    int64_t n;
    const bool whole = k->value->kind == YamlScalar
                    && parse_int(k->value->text, &n);
    const char *text = whole ? k->value->text : "n";

    const char *line = arena_printf(e->arena, "%.*s%s%s", (int)(hole - h->ours),
                                    h->ours, text, hole + 1);

    if (whole && put_line(e, k, line)) {
        say_lines(e, k);
        return;
    }
    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    note_at(nowhere, "in a spec this is %s", line);
}

/* Explains a begin token, which is superfluous if it is also the end token. */
static void explain_begin(Explain *e, const KeyValue *k, const Hint *h)
{
    const Yaml *end = value_at(e, "vocab.tokens.end", k->key->pos.src);

    if (end && end->kind == YamlScalar && k->value->kind == YamlScalar
        && !strcmp(end->text, k->value->text))
        leave_out(e, k, "it is the end token");
    else
        explain_value(e, k, h);
}

/* ---- families ---- */
static const char *family_name(const Yaml *v)
{
    if (v->kind == YamlList && v->items.n > 0)
        v = v->items.at[0];
    return v->kind == YamlScalar ? v->text : "";
}

static const Family *find_family(const char *name)
{
    for (int i = 0; i < n_families; i++)
        if (hint_matches(families[i].theirs, name))
            return &families[i];
    return NULL;
}

/* Returns the line with `4 d_model` or `1 / sqrt(d_model)` evaluated; NULL if
 * d_model is unknown. */
static const char *family_line(Explain *e, const char *line)
{
    const double d_model = number_at(e, "d_model");
    const size_t key = strcspn(line, ":");

    if (!strstr(line, " d_model") && !strstr(line, "sqrt(d_model)"))
        return line;
    if (d_model <= 0)
        return NULL;
    return arena_printf(e->arena, "%.*s: %.16g", (int)key, line,
                        strstr(line, "sqrt") ? 1 / sqrt(d_model) : 4 * d_model);
}

static void put_family(Explain *e, const KeyValue *k)
{
    for (const char *at = e->family->lines; *at;) {
        const size_t n = strcspn(at, "\n");
        const char *line = arena_strndup(e->arena, at, n);
        const bool tied = !strncmp(line, "embedding.tie", 13)
                       || !strncmp(line, "logits.scale", 12);
        line = family_line(e, line);
        if (line && !(tied && e->untied))
            put_line(e, k, line);
        at += n + 1;
    }
}

static void explain_family(Explain *e, const KeyValue *k)
{
    const char *name = family_name(k->value);
    const char *kind = hint_word("kind", name);

    if (find_family(name))
        put_family(e, k);
    else if (kind)
        put(e, k, "kind", hint_value(e->arena, kind, k->value->pos));
    if (e->lines.n || is_given(e, "kind", k->key->pos.src)) {
        finish(e, k, "kind");
        return;
    }
    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    note_at(nowhere, "kind is one of encoder-decoder, encoder, decoder, "
                     "attention");
}

/* ---- keys ---- */
/* Returns the only field whose path ends with `name`, e.g. norm.place for
 * place. */
static const char *only_field(const char *name)
{
    const char *only = NULL;

    for (int i = 0; i < n_fields; i++) {
        if (strcmp(last_key(fields[i].key), name) || fields[i].key == name)
            continue;
        if (only)
            return NULL;
        only = fields[i].key;
    }
    return only;
}

static bool known_key(const char *name)
{
    return field_find(name) >= 0 || field_group(name) || hint_find(name);
}

/* Explains a map of known keys, such as model: {d_model: 8, heads: 2} or
 * encoder: {layers: 6}. */
static bool explain_map(Explain *e, const KeyValue *k)
{
    const Yaml *map = k->value;
    const char *known = NULL;

    for (int i = 0; map->kind == YamlMap && i < map->keys.n && !known; i++)
        if (known_key(map->keys.at[i]->text))
            known = map->keys.at[i]->text;
    if (!known)
        return false;
    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    note_at(nowhere,
            "its keys belong at the top of a spec, those of one side as "
            "N.encoder: 6");
    for (int i = 0; i < map->keys.n; i++) {
        const Yaml *key = map->keys.at[i];
        const char *path = arena_printf(e->arena, "%s.%s", k->path, key->text);
        const KeyValue inner = { path, key, map->items.at[i] };
        const char *ours = key_of_side(e, &inner, key->text);
        if (field_find(ours) >= 0 || field_group(ours))
            vec_push(e->arena, &e->u->meant,
                     ((KeyValue){ ours, key, inner.value }));
        else
            vec_push(e->arena, &e->u->unknown, inner);
    }
    return true;
}

static void say_unknown(Arena *a, const KeyValue *k, const char *near)
{
    const char *keys = hint_group(a, k->path);

    error_at(k->key->pos, "unknown key '%s'", quote(k->path));
    if (near)
        note_at(nowhere, "did you mean '%s'?", near);
    else if (parse_real(k->key->text, &(double){ 0 }))
        note_at(nowhere, "in braces a comma ends a value: write 50257, not "
                         "50,257");
    else
        note_at(nowhere, "%s", keys ? keys : "`attnc fields` lists the keys");
}

static void explain_by(Explain *e, const KeyValue *k, const Hint *h)
{
    switch (h->how) {
    case HintValue:  explain_value(e, k, h); break;
    case HintTrue:   explain_true(e, k, h); break;
    case HintFactor: explain_factor(e, k, h); break;
    case HintFormat: explain_format(e, k, h); break;
    case HintBegin:  explain_begin(e, k, h); break;
    case HintFamily: explain_family(e, k); break;
    case HintTie:    explain_tie(e, k); break;
    case HintNone:   leave_out(e, k, h->more); break;
    case HintNote:
        error_at(k->key->pos, "unknown key '%s'", quote(k->path));
        note_at(nowhere, "%s", h->more);
    }
}

static void explain_key(Explain *e, const KeyValue *k)
{
    const Hint *h = hint_find(last_key(k->path));
    const char *only = h ? NULL : only_field(k->path);
    const char *near = h || only ? NULL : hint_field(e->arena, k->path);

    if (!h && !only && !near && strlen(k->path) > 5 && !strchr(k->path, '.'))
        h = hint_near(e->arena, last_key(k->path));
    e->lines.n = 0;
    if (h && is_null(k->value)) {
        leave_out(e, k, "it has no value");
    } else if (h && (h->how != HintFamily || k->value->kind != YamlMap)) {
        explain_by(e, k, h);
    } else if (only && k->value->kind != YamlMap) {
        put(e, k, only, translated(e, only, k->value));
        finish(e, k, only);
    } else if (!explain_map(e, k)) {
        say_unknown(e->arena, k, near);
    }
}

/* Returns the round in which a key is explained. Families come last, because
 * they add only values that no other key gives. */
static int round_of(const KeyValue *k)
{
    const Hint *h = hint_find(last_key(k->path));
    const bool list = k->value->kind == YamlList;

    if (!h || k->value->kind == YamlMap)
        return 1;
    switch (h->how) {
    case HintFormat: return 0; /* more specific than `causal: true` */
    case HintBegin:
    case HintFactor: return 2;
    case HintFamily: return list ? 4 : 3;
    default:         return 1;
    }
}

/* Finds facts that the rounds need: the family, the kind, and whether matrices
 * are untied. */
static void look_ahead(Explain *e)
{
    const Yaml *kind = e->u->w->value[field_row("kind")];
    const char *word = kind && kind->kind == YamlScalar ? kind->text : NULL;

    for (int i = 0; i < e->u->unknown.n; i++) {
        const KeyValue *k = &e->u->unknown.at[i];
        const Hint *h = hint_find(last_key(k->path));
        const char *name = family_name(k->value);
        if (!h)
            continue;
        if (h->how == HintFamily && !e->family)
            e->family = find_family(name);
        if (h->how == HintFamily && !word)
            word = hint_word("kind", name);
        if (h->how == HintTrue && is_text(k->value, "true") && !word
            && !strncmp(h->ours, "kind: ", 6))
            word = h->ours + 6;
        e->untied = e->untied
                 || (h->how == HintTie && is_text(k->value, "false"));
    }
    e->kind = word ? find_word(fields[field_row("kind")].words, word) : -1;
}

void explain_unknown(Unknown *u)
{
    Explain e = { .u = u, .arena = u->arena };

    look_ahead(&e);
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < u->unknown.n; i++) {
            KeyValue *k = arena_alloc(u->arena, sizeof *k);
            *k = u->unknown.at[i]; /* a copy, because the list may grow */
            if (round_of(k) == round)
                explain_key(&e, k);
        }
    for (int i = 0; i < e.left_out.n; i++)
        say_left_out(&e, &e.left_out.at[i]);
}
