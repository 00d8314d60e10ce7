/* tensors.c: checks the weights of the folder, one .safetensors file or an
 * index of several. Every tensor that the spec needs must exist, and all others
 * must be known. */
#include <string.h>
#include <unistd.h>

#include "base/strings.h"
#include "engine/engine.h"
#include "import/state.h"
#include "spec/spec.h"

/* ---- files ---- */
static const char *in_folder(Import *m, const char *folder, const char *name)
{
    return arena_printf(m->a, "%s/%s", folder, name);
}

static void refuse_other(Import *m, const char *folder)
{
    static const char *const pickled[] = {
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
    };
    for (size_t i = 0; i < sizeof pickled / sizeof *pickled; i++) {
        if (access(in_folder(m, folder, pickled[i]), F_OK) != 0)
            continue;
        m->code = ExitInput;
        error_at((Pos){ 0 },
                 "%s has weights as a Python pickle, %s, which runs code when "
                 "it is read: convert it once",
                 quote(folder), pickled[i]);
        note_at((Pos){ 0 },
                "python3 -c 'import transformers as t; "
                "t.AutoModel.from_pretrained(\"%s\")"
                ".save_pretrained(\"%s\")'",
                quote(folder), quote(folder));
        return;
    }
    m->code = ExitIO;
    error_at((Pos){ 0 },
             "%s has no weights: model.safetensors, or "
             "model.safetensors.index.json with its shards",
             quote(folder));
}

Safetensors *tensors_of(Import *m, const char *folder, const char **path)
{
    static const char *const names[] = { "model.safetensors",
                                         "model.safetensors.index.json" };
    Fault why;
    *path = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !*path; i++)
        if (path_exists(in_folder(m, folder, names[i])))
            *path = in_folder(m, folder, names[i]);
    if (!*path) {
        refuse_other(m, folder);
        return NULL;
    }
    Safetensors *file = safetensors_open(*path, &why);
    if (!file)
        m->code = report_fault(&why);
    return file;
}

bool tensors_open(Import *m)
{
    m->weights = tensors_of(m, m->o->folder, &m->path);
    return m->weights != NULL;
}

/* ---- unused ---- */

/* Returns the first pattern in the list that matches the name, or NULL. */
static const char *listed(Import *m, const Yaml *list, const char *name)
{
    for (int i = 0; list && i < list->items.n; i++) {
        const Yaml *row = list->items.at[i];
        if (row->kind == YamlScalar) {
            const char *pattern = import_filled(m, row, row->text);
            if (pattern && glob_fits(pattern, name))
                return pattern;
        } else if (row->kind == YamlMap && yaml_get(row, "when")
                   && import_truth(m, yaml_get(row, "when"))) {
            const char *inside = listed(m, rules_list(row, "tensors"), name);
            if (inside)
                return inside;
        }
    }
    return NULL;
}

static const char *known_as(Import *m, const char *name)
{
    const char *own = listed(m, rules_list(m->rules, "unused"), name);
    return own ? own : listed(m, rules_list(m->common, "unused"), name);
}

/* Sets m->use. `tie` has the Tie bits of the spec. */
static void find_uses(Import *m, const PackList *list, int tie)
{
    const Safetensors *file = m->weights;
    const char *table = !(tie & (tie - 1)) ? ""
                      : tie & TieTarget    ? "target.weight"
                                           : "source.weight";
    m->use = arena_alloc(m->a, ((size_t)safetensors_count(file) + 1)
                                   * sizeof *m->use);
    for (int64_t i = 0; i < list->count; i++) {
        const PackItem *item = &list->item[i];
        const char *name = item->from.name;
        const Tensor *t = name ? safetensors_find(file, name) : NULL;
        if (!t)
            continue;
        TensorUse *use = &m->use[t - safetensors_at(file, 0)];
        use->used = true;
        use->turned = item->from.transposed;
        use->tied = use->tied || (item->name && !strcmp(item->name, table));
    }
}

typedef struct { /* name of unknown tensors; number of further layers that have
                    it */
    const char *name;
    int more;
} Unknown;

/* Returns the name with its first number between dots replaced by {i}. */
static const char *without_layer(Arena *a, const char *name)
{
    for (const char *at = name; *at; at += *at == '.') {
        const size_t n = strcspn(at, "."), digits = strspn(at, "0123456789");
        if (n && n == digits)
            return arena_printf(a, "%.*s{i}%s", (int)(at - name), name, at + n);
        at += n;
    }
    return name;
}

/* Adds the pattern of a known tensor to `unused`, unless a pattern there
 * matches it. If the pattern does not match the file's own name, as in a .gguf
 * file, adds that name instead. */
static void leave_out(Import *m, SpecTree *t, const char *pattern,
                      const char *name)
{
    for (int i = 0; i < t->unused->items.n; i++)
        if (glob_fits(t->unused->items.at[i]->text, name))
            return;
    if (!glob_fits(pattern, name))
        pattern = name;
    vec_push(m->a, &t->unused->items, scalar_new(m->a, pattern, false));
}

static bool say_unknown(Import *m, SpecTree *t)
{
    t->unused = arena_alloc(m->a, sizeof *t->unused);
    t->unused->kind = YamlList;
    Index seen = { 0 };
    VEC(Unknown) list = { 0 };
    for (int i = 0; i < safetensors_count(m->weights); i++) {
        const char *name = safetensors_at(m->weights, i)->name;
        const bool used = m->use[i].used;
        const char *pattern = used ? NULL : known_as(m, gguf_called(m, name));
        if (pattern)
            leave_out(m, t, pattern, name);
        if (used || pattern)
            continue;
        const int at = index_add(m->a, &seen, without_layer(m->a, name),
                                 list.n);
        if (at < list.n)
            list.at[at].more++;
        else
            vec_push(m->a, &list, ((Unknown){ name, 0 }));
    }
    for (int i = 0; i < list.n; i++)
        error_at((Pos){ 0 },
                 "%s: tensor '%s'%s: the rules of %s know no such one",
                 quote(m->path), quote(list.at[i].name),
                 list.at[i].more
                     ? arena_printf(m->a, ", and %d of other layers",
                                    list.at[i].more)
                     : "",
                 m->family);
    return list.n == 0;
}

static bool know_tensors(Import *m, const Engine *e, SpecTree *t, Imported *to)
{
    find_uses(m, &e->plan->pack, e->spec->embed_tie);
    to->tensors = safetensors_count(m->weights);
    for (int i = 0; i < to->tensors; i++) {
        const bool used = m->use[i].used;
        to->parameters += used ? safetensors_at(m->weights, i)->elements : 0;
        to->unused += !used;
    }
    return say_unknown(m, t) && m->scope.failures == 0;
}

/* ---- names ---- */

/* Returns true if the file has a tensor of this row of `names`. */
static bool row_has_tensor(const Import *m, const Yaml *row)
{
    const Yaml *text = row->kind == YamlMap ? yaml_get(row, "tensor") : row;
    bool found = !text || text->kind != YamlScalar;
    for (int i = 0; !found && i < safetensors_count(m->weights); i++)
        found = spec_name_begins(text->text,
                                 safetensors_at(m->weights, i)->name);
    return found;
}

static bool row_has_weight(const PackList *list, const char *row)
{
    bool found = false;
    for (int64_t i = 0; !found && i < list->count; i++)
        found = list->item[i].name && spec_name_begins(row, list->item[i].name);
    return found;
}

static bool all_have_tensors(const Import *m, const Yaml *names)
{
    for (int i = 0; names && i < names->items.n; i++)
        if (!row_has_tensor(m, names->items.at[i]))
            return false;
    return true;
}

void names_drop_idle(Import *m, SpecTree *t)
{
    if (all_have_tensors(m, t->names))
        return;
    SpecTree bare = *t;
    bare.names = NULL;
    const char *text = spec_tree_text(&bare);
    const Source src = { m->o->spec, text, strlen(text), 0 };
    const EngineOptions options = { .spec = m->o->spec, .text = &src };
    Engine e = { 0 };
    messages_mute(true);
    const bool planned = !engine_plan(&e, &options);
    messages_mute(false);
    for (int i = t->names->items.n - 1; planned && i >= 0; i--) {
        const char *ours = t->names->keys.at[i]->text;
        if (!row_has_tensor(m, t->names->items.at[i])
            && !row_has_weight(&e.plan->pack, ours))
            map_take(t->names, ours);
    }
    engine_close(&e);
}

bool tensors_fit(Import *m, SpecTree *t, Imported *to)
{
    const Source src = { m->o->spec, to->text, to->n, 0 };
    const EngineOptions options = { .spec = m->o->spec, .text = &src };
    Engine e = { 0 };
    Report report = { .shapes = true };
    const ConfigKey *type = config_find(m->config, "model_type");
    /* at line 0, because it stands for all values without an origin */
    vec_push(m->a, &t->origins,
             ((TextOrigin){ .from = type ? type->pos : (Pos){ 0 } }));
    messages_origins(&src, t->origins.at, t->origins.n);
    m->code = engine_plan(&e, &options);
    messages_origins(NULL, NULL, 0);
    if (m->code == ExitInput)
        note_at((Pos){ 0 },
                "the fields are those of the spec that the rules of %s make "
                "of %s",
                m->family, quote(m->o->folder));
    if (!m->code) {
        const bool fits = weights_check(&e.plan->pack, m->weights, &report);
        if (!fits)
            print_report(&report);
        if (!know_tensors(m, &e, t, to) || !fits)
            m->code = ExitInput;
        report_free(&report);
        to->by_token = e.spec->kind == KindEncoder && e.spec->source.size > 0
                    && e.spec->head == HeadRows && !e.spec->head_normalize;
    }
    engine_close(&e);
    return !m->code;
}
