/* spec.c: from files and --set options to one checked Spec. Reading only notes
 * which value was written last for each row of the table of fields; values are
 * read once all of them are known, so that `kind` can say which have a meaning
 * and what was inherited can be overridden whole.                           */
#define _XOPEN_SOURCE 700         /* realpath */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "fields.h"

enum { MostBytes = 1 << 20, MostExtends = 16, EnoughErrors = 100 };

typedef struct { const Yaml *ours, *theirs; } NamePair;

typedef struct {
    Arena *arena;
    Spec *spec;
    const Yaml **value;          /* by row; NULL: not written */
    bool *spread;                /* by row: given by a row above it */
    FieldState *state;           /* by row */
    VEC(NamePair) names;
    VEC(const char *) files;     /* that extend one another, real paths */
} Load;

/* ------------------------------------------------------------- files --- */
static char *folder_of(Arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? arena_strndup(a, path, (size_t)(slash - path) + 1)
                 : arena_strdup(a, "");
}

char *spec_path(Arena *a, Pos written, const char *path)
{
    const char *from = written.src ? written.src->name : "";
    const char *folder = *path == '/' ? "" : folder_of(a, from);
    bool option = !*folder && (*path == '-' || *path == '@');

    return arena_printf(a, "%s%s%s", option ? "./" : "", folder, path);
}

/* A missing top file ends the process; a missing base is an error there. */
static Source *open_source(Load *l, const char *path, Pos from)
{
    Fault why;
    File file;

    if (!file_read(&file, path, MostBytes, &why)) {
        if (!from.src)
            fail(why.code, "%s", why.text);
        error_at(from, "%s", why.text);
        return NULL;
    }
    Source *src = arena_alloc(l->arena, sizeof *src);
    src->name = arena_strdup(l->arena, path);
    src->text = arena_strndup(l->arena, (const char *)file.at, file.size);
    src->size = file.size;
    src->rank = -l->files.n;
    file_close(&file);
    return src;
}

static bool seen_before(Load *l, const char *path, Pos from)
{
    char real[PATH_MAX];
    const char *name = realpath(path, real) ? real : path;

    for (int i = 0; i < l->files.n; i++)
        if (!strcmp(l->files.at[i], name)) {
            error_at(from, "%s extends itself", quote(path));
            return true;
        }
    if (l->files.n == MostExtends) {
        error_at(from, "more than %d specs extend one another", MostExtends);
        return true;
    }
    vec_push(l->arena, &l->files, arena_strdup(l->arena, name));
    return false;
}

/* -------------------------------------------------------------- keys --- */
static void unknown_key(const char *path, const Yaml *key)
{
    const char *all[128];
    int n = 0;

    for (int i = 0; i < n_fields && n < 128; i++)
        all[n++] = fields[i].key;
    const char *near = nearest(path, all, n);
    error_at(key->pos, "unknown key '%s'", quote(path));
    if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    else
        note_at((Pos){ 0 }, "`attnc fields` lists the keys");
}

static void assign(Load *l, const char *path, const Yaml *key,
                   const Yaml *value);

static void assign_map(Load *l, const char *path, const Yaml *map)
{
    for (int i = 0; i < map->keys.n; i++) {
        const Yaml *key = map->keys.at[i];
        if (error_count() > EnoughErrors)
            return;
        assign(l, *path ? arena_printf(l->arena, "%s.%s", path, key->text)
                        : key->text, key, map->items.at[i]);
    }
}

/* A scalar in place of a map replaces the whole map. */
static void assign_spread(Load *l, int row, const Yaml *value)
{
    const char *const *words = fields[row].words;

    for (int i = 0; i < n_fields; i++)
        if (i != row && field_below(fields[i].key, fields[row].key))
            l->value[i] = NULL;
    for (int i = 0; words[i]; i++) {
        int to = field_row(words[i]);
        l->value[to] = value;
        l->spread[to] = true;
    }
    l->value[row] = value;
}

static void assign_name(Load *l, const Yaml *key, const char *ours,
                        const Yaml *theirs)
{
    Yaml *name = arena_alloc(l->arena, sizeof *name);

    *name = *key;
    name->text = ours;
    vec_push(l->arena, &l->names, ((NamePair){ name, theirs }));
}

static void assign_names(Load *l, const Yaml *map)
{
    if (map->kind != YamlMap)
        error_at(map->pos, "names must be a map");
    else
        for (int i = 0; i < map->keys.n; i++)
            assign_name(l, map->keys.at[i], map->keys.at[i]->text,
                        map->items.at[i]);
}

static void assign(Load *l, const char *path, const Yaml *key,
                   const Yaml *value)
{
    int row = field_find(path);
    FieldType type = row < 0 ? FieldSpread : fields[row].type;

    if (field_below(path, "names") && path[5])
        assign_name(l, key, path + 6, value);
    else if (type == FieldNames)
        assign_names(l, value);
    else if (row >= 0 && (type != FieldSpread || value->kind != YamlMap)) {
        if (type == FieldSpread)
            assign_spread(l, row, value);
        l->value[row] = value;
        l->spread[row] = false;
    } else if (!field_group(path) || !strcmp(path, "vocab.size"))
        unknown_key(path, key);
    else if (value->kind != YamlMap)
        error_at(value->pos, "%s must be a map of keys", path);
    else
        assign_map(l, path, value);
}

static bool load_file(Load *l, const char *path, Pos from)
{
    if (seen_before(l, path, from))
        return false;
    Source *src = open_source(l, path, from);
    Yaml *root = src ? yaml_parse(l->arena, src, 0) : NULL;
    if (!from.src)
        l->spec->top = (Pos){ src, 1, 1 };
    if (!root)
        return false;
    if (root->kind != YamlMap) {
        error_at(root->pos, "a spec is a map of keys, such as d_model: 512");
        return false;
    }
    const Yaml *base = yaml_get(root, "extends");
    if (base && base->kind == YamlScalar && *base->text &&
        !load_file(l, spec_path(l->arena, base->pos, base->text), base->pos))
        return false;
    assign_map(l, "", root);
    return true;
}

static void apply_set(Load *l, const char *option, int rank)
{
    Source *src = arena_alloc(l->arena, sizeof *src);
    const char *equals = strchr(option, '=');

    *src = (Source){ "--set", option, strlen(option), rank };
    Yaml key = { .kind = YamlScalar, .pos = { src, 1, 1 } };
    if (!equals || equals == option) {
        error_at(key.pos, "expected key.path=value");
        return;
    }
    Yaml *value = yaml_parse(l->arena, src, (size_t)(equals - option) + 1);
    key.text = arena_strndup(l->arena, option, (size_t)(equals - option));
    if (!strcmp(key.text, "extends"))
        error_at(key.pos, "extends can only be written in a file");
    else if (value)
        assign(l, key.text, &key, value);
}

/* The comma after which another key= follows, else the end: h=16,d_k=32 has
 * one, embedding.tie=[target,logits] has none.                              */
static const char *option_end(const char *option)
{
    const char *comma = option;

    while ((comma = strchr(comma, ',')) != NULL) {
        size_t key = strcspn(comma + 1, "=,:[]{} \"'");
        if (key && comma[1 + key] == '=')
            return comma;
        comma++;
    }
    return option + strlen(option);
}

static void apply_sets(Load *l, const char *const *sets, int nsets)
{
    for (int i = 0; i < nsets; i++)
        for (const char *at = sets[i], *end; ; at = end + 1) {
            end = option_end(at);
            apply_set(l, arena_strndup(l->arena, at, (size_t)(end - at)),
                      i + 1);
            if (!*end)
                break;
        }
}

/* ------------------------------------------------------------ values --- */
static bool written(const Load *l, int row)
{
    return l->value[row] != NULL;
}

/* What a base says that has no meaning for the kind written further up, and
 * what a scalar spread over both sides, is left out without a word.         */
static bool left_out(const Load *l, int row)
{
    const Yaml *kind = l->value[field_row("kind")];
    const Pos at = l->value[row]->pos;

    return l->spread[row] || (kind && at.src->rank < kind->pos.src->rank);
}

static void set_off(Load *l, int row)
{
    l->state[row] = StateOff;
    field_absent(&fields[row], l->spec);
    if (!written(l, row) || left_out(l, row))
        return;
    error_at(l->value[row]->pos, "%s has no meaning for this kind of model",
             fields[row].key);
    note_at(spec_pos(l->spec, "kind"), "kind is here");
}

static void missing(Load *l, int row)
{
    const Field *f = &fields[row];

    l->state[row] = StateBad;
    error_at(spec_pos(l->spec, f->key), "%s is missing", f->key);
    note_at((Pos){ 0 }, "it must be %s: %s", field_wants(l->arena, f), f->doc);
}

/* A value that was spread is read as often as there are sides, under the name
 * of the key that it stands at; what is wrong with it is said once.         */
static bool read_value(Load *l, int row)
{
    Field f = fields[row];

    for (int i = 0; l->spread[row] && i < row; i++) {
        if (l->value[i] != l->value[row])
            continue;
        if (l->state[i] == StateBad)
            return false;
        if (fields[i].type == FieldSpread)
            f.key = fields[i].key;
    }
    l->spec->field_pos[row] = l->value[row]->pos;
    return field_read(l->arena, &f, l->spec, l->value[row]);
}

static void read_row(Load *l, int row)
{
    const Field *f = &fields[row];

    if (!(f->kinds & 1u << l->spec->kind)) {
        set_off(l, row);
    } else if (written(l, row)) {
        l->state[row] = read_value(l, row) ? StateSet : StateBad;
    } else if (!f->preset) {
        missing(l, row);
    } else {
        field_absent(f, l->spec);
        field_default(l->arena, f, l->spec);
    }
}

/* Without a kind nothing can be missing or out of place. */
static bool read_rows(Load *l)
{
    int kind = field_row("kind");

    read_row(l, kind);
    for (int i = 0; i < n_fields; i++) {
        if (i == kind)
            continue;
        if (l->state[kind] != StateBad)
            read_row(l, i);
        else if (written(l, i))
            l->state[i] = read_value(l, i) ? StateSet : StateBad;
    }
    return l->state[kind] != StateBad;
}

/* ------------------------------------------------------- vocabularies --- */
/* Tokens may be any characters but the newline. */
static int64_t count_lines(Load *l, const SpecVocab *v)
{
    char *path = spec_path(l->arena, v->file_pos, v->file);
    int64_t lines = 0;
    Fault why;
    File file;

    if (!file_read(&file, path, (size_t)1 << 30, &why)) {
        error_at(v->file_pos, "%s", why.text);
        return -1;
    }
    for (size_t i = 0; i < file.size; i++)
        lines += file.at[i] == '\n';
    lines += file.size && file.at[file.size - 1] != '\n';
    file_close(&file);
    if (lines == 0)
        error_at(v->file_pos, "%s has no tokens", quote(path));
    return lines;
}

static void find_size(Load *l, SpecVocab *v, const char *size_key,
                      const char *file_key)
{
    int size = field_row(size_key), file = field_row(file_key);

    if (v->size || l->state[size] == StateOff || l->state[size] == StateBad ||
        l->state[file] == StateBad)
        return;
    if (v->file) {
        v->size = count_lines(l, v);
    } else {
        error_at(spec_pos(l->spec, size_key), "%s is missing", size_key);
        note_at((Pos){ 0 }, "give the size, or the file of the tokens as %s",
                file_key);
    }
    if (v->size <= 0)
        l->state[size] = StateBad;
}

/* One vocabulary for both sides may be written at either. */
static void share(Spec *s)
{
    if (!s->source.size && !s->source.file)
        s->source = s->target;
    else if (!s->target.size && !s->target.file)
        s->target = s->source;
}

static void find_vocabularies(Load *l)
{
    Spec *s = l->spec;

    s->source.file_pos = spec_pos(s, "vocab.source.file");
    s->target.file_pos = spec_pos(s, "vocab.target.file");
    if (s->vocab_shared)
        share(s);
    find_size(l, &s->source, "vocab.source.size", "vocab.source.file");
    find_size(l, &s->target, "vocab.target.size", "vocab.target.file");
}

/* -------------------------------------------------------------- spec --- */
/* Everything that changes what is computed, in the order of the table. */
static uint64_t hash_spec(Arena *a, const Spec *s)
{
    VEC(char) text = { 0 };
    const char *line;

    for (int i = 0; i < n_fields + s->names.n; i++) {
        if (i >= n_fields) {
            const SpecName *n = &s->names.at[i - n_fields];
            line = arena_printf(a, "names.%s=%s\n", n->ours, n->theirs);
        } else if (fields[i].type < FieldNoValue) {
            line = arena_printf(a, "%s=%s\n", fields[i].key,
                                field_text(a, &fields[i], s));
        } else {
            continue;
        }
        for (; *line; line++)
            vec_push(a, &text, *line);
    }
    return XXH3_64bits(text.at, (size_t)text.n);
}

static Load new_load(Arena *a, const char *path)
{
    size_t n = (size_t)n_fields;
    Load l = { .arena = a, .spec = arena_alloc(a, sizeof *l.spec) };

    l.value = arena_alloc(a, n * sizeof *l.value);
    l.spread = arena_alloc(a, n * sizeof *l.spread);
    l.state = arena_alloc(a, n * sizeof *l.state);
    l.spec->field_pos = arena_alloc(a, n * sizeof *l.spec->field_pos);
    l.spec->path = arena_strdup(a, path);
    l.spec->folder = folder_of(a, path);
    l.spec->max_output_plus = -1;
    l.spec->has_q = l.spec->has_k = l.spec->has_v = l.spec->has_o = true;
    return l;
}

static void resolve(Load *l)
{
    bool known = read_rows(l);

    l->spec->weights_pos = spec_pos(l->spec, "weights");
    for (int i = 0; i < l->names.n; i++)
        names_add(l->arena, l->spec, l->names.at[i].ours,
                  l->names.at[i].theirs);
    if (!known)
        return;
    find_vocabularies(l);
    check_spec(l->spec, l->state);
}

Spec *spec_load(Arena *a, const char *path, const char *const *sets, int nsets)
{
    int errors = error_count();
    Load l = new_load(a, path);

    errors_hold(a);
    if (load_file(&l, path, (Pos){ 0 })) {
        apply_sets(&l, sets, nsets);
        resolve(&l);
    }
    errors_release();
    if (error_count() != errors)
        return NULL;
    l.spec->hash = hash_spec(a, l.spec);
    return l.spec;
}

/* The place of the field, or of one beside it, or the top. */
Pos spec_pos(const Spec *s, const char *key)
{
    int row = field_find(key);
    const char *dot = strrchr(key, '.');

    if (row >= 0 && s->field_pos[row].src)
        return s->field_pos[row];
    for (int i = 0; dot && i < n_fields; i++)
        if (s->field_pos[i].src &&
            !strncmp(fields[i].key, key, (size_t)(dot - key) + 1))
            return s->field_pos[i];
    return s->top;
}
