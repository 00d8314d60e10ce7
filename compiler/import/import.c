/* import.c: converts a folder to the text of a spec. Reads config.json, finds
 * the family, evaluates the family's rules, and compares the spec with the
 * tensors. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "import/state.h"
#include "runtime/files/foreign.h"
#include "runtime/weights/gguf.h"

/* ---- folder ---- */

/* Reports that the folder has no config.json. If it has an adapter, names the
 * model that this belongs to. */
static void refuse_folder(Import *m, const char *folder)
{
    Config adapter = { 0 };
    if (!config_read(m->a, arena_printf(m->a, "%s/adapter_config.json", folder),
                     false, &adapter, &m->code))
        return;
    m->code = adapter.src.name ? ExitInput : ExitIO;
    if (!adapter.src.name) {
        error_at((Pos){ 0 },
                 "%s has no config.json: it is not the folder of a checkpoint",
                 quote(folder));
        return;
    }
    const ConfigKey *key = config_find(&adapter, "base_model_name_or_path");
    const char *base = key && key->value.kind == ValueText ? key->value.text
                                                           : NULL;
    error_at((Pos){ 0 },
             "%s has no config.json: it is an adapter of peft, for %s",
             quote(folder),
             base ? arena_printf(m->a, "the model '%s'", quote(base))
                  : "a model that it does not name");
    if (base && is_folder(base))
        note_at((Pos){ 0 }, "attnc import %s --lora=%s", quote(base),
                quote(folder));
    else
        note_at((Pos){ 0 },
                "attnc import BASE --lora=%s, where BASE is the "
                "folder of that model",
                quote(folder));
}

static bool read_config(Import *m)
{
    struct stat s;
    const char *folder = m->o->folder;
    const char *path = arena_printf(m->a, "%s/config.json", folder);
    Fault why;
    if (foreign_file(folder, AskedCheckpoint, &why)) {
        m->code = report_fault(&why);
    } else if (stat(folder, &s) != 0) {
        error_at((Pos){ 0 }, "%s: %s", quote(folder), strerror(errno));
        m->code = ExitIO;
    } else if (!S_ISDIR(s.st_mode)) {
        error_at((Pos){ 0 },
                 "%s is no folder: a checkpoint is the folder that has "
                 "config.json and model.safetensors",
                 quote(folder));
        m->code = ExitInput;
    } else if (config_read(m->a, path, false, m->config, &m->code)
               && !m->config->src.name) {
        refuse_folder(m, folder);
    } else if (!m->code && m->config->top.kind != ValueMap) {
        error_at((Pos){ &m->config->src, 1, 1 }, "an object is needed here");
        m->code = ExitInput;
    }
    return !m->code;
}

/* Renames old keys in the order in which the rules' section `renamed` lists
 * them. */
static bool rename_keys(Import *m, const Yaml *rules)
{
    const Yaml *renamed = rules_map(rules, "renamed");
    for (int i = 0; renamed && i < renamed->keys.n; i++)
        if (!config_move(m->a, m->config, renamed->keys.at[i]->text,
                         renamed->items.at[i]->text))
            return false;
    return renamed || !yaml_get(rules, "renamed");
}

/* ---- family ---- */
static bool lists_word(const Yaml *list, const char *word)
{
    for (int i = 0; list && i < list->items.n; i++)
        if (list->items.at[i]->kind == YamlScalar
            && !strcmp(list->items.at[i]->text, word))
            return true;
    return false;
}

/* Returns the first family that has `alike` and whose rules fit the folder, or
 * NULL; *differs is set to its `alike`. */
static const char *alike_fitting(Import *m, const RuleFiles *all,
                                 const char **differs)
{
    const char *found = NULL;
    for (int i = 0; i < all->n && !found; i++) {
        *differs = rules_text(all->at[i].top, "alike");
        if (!*differs)
            continue;
        Imported trial;
        ImportOptions o = *m->o;
        o.as = all->at[i].family;
        o.lora = o.merged = o.joined = NULL;
        o.n_others = 0;
        messages_mute(true);
        if (import_folder(&trial, &o) == ExitDone)
            found = all->at[i].family;
        import_close(&trial);
        messages_mute(false);
    }
    return found;
}

static void unknown_family(Import *m, const ConfigKey *key)
{
    const char *words[256];
    RuleFiles all = { 0 };
    int n = 0;
    rules_read(m->a, &all, NULL);
    const char *differs, *fits = alike_fitting(m, &all, &differs);
    for (int i = 0; i < all.n; i++) {
        const Yaml *types = rules_list(all.at[i].top, "model_type");
        for (int k = 0; types && k < types->items.n && n < 256; k++)
            words[n++] = types->items.at[k]->text;
    }
    const char *near = nearest(key->value.text, words, n);
    error_at(key->pos, "no rules are known for model_type '%s'",
             quote(key->value.text));
    if (near)
        note_at((Pos){ 0 }, "did you mean '%s'?", near);
    if (fits)
        note_at((Pos){ 0 },
                "the rules of %s fit its keys and tensors, but %s may differ: "
                "attnc import %s --as=%s --check=python3 compares it with "
                "transformers",
                fits, differs, quote(m->o->folder), fits);
    if (!near && !fits)
        note_at((Pos){ 0 }, "attnc import --families lists those that are "
                            "known; a spec of this one, by hand, starts with "
                            "attnc new");
}

/* Reads and checks the user's rule file. A test checks attnc's own rules. */
static bool read_own(Import *m)
{
    RuleFiles all = { 0 };
    if (!m->o->rules)
        return true;
    if (!rules_file(m->a, m->o->rules, &m->own, &m->code))
        return false;
    vec_push(m->a, &all, m->own);
    return rules_check(m->a, &all);
}

static bool own_fits(Import *m, const ConfigKey *key, Rules *to)
{
    *to = m->own;
    if (lists_word(rules_list(m->own.top, "model_type"), key->value.text))
        return true;
    error_at(key->pos, "%s has no rules for model_type '%s'",
             quote(m->own.name), quote(key->value.text));
    return false;
}

/* Returns config.json's model_type, or NULL after an error. */
static ConfigKey *model_type(Import *m)
{
    ConfigKey *key = config_find(m->config, "model_type");
    if (key && key->value.kind == ValueText) {
        key->used = true;
        return key;
    }
    error_at(key ? key->pos : (Pos){ &m->config->src, 1, 1 },
             "model_type %s: it names the family, as \"llama\"",
             key ? "must be a text" : "is missing");
    return NULL;
}

/* Returns the model_type of the family: for a model of pictures and text, that
 * of its text model, whose config is a section. */
static ConfigKey *family_key(Import *m)
{
    const Yaml *sections = rules_map(m->common, "text_sections");
    ConfigKey *key = model_type(m);
    const Yaml *section = key && sections ? yaml_get(sections, key->value.text)
                                          : NULL;
    if (!section)
        return key;
    return config_raise(m->a, m->config, section->text) ? model_type(m) : NULL;
}

static bool find_family(Import *m, Rules *to)
{
    ConfigKey *key = family_key(m);
    RuleFiles files = { 0 };
    if (!key)
        return false;
    if (m->own.top)
        return own_fits(m, key, to);
    if (!rules_read(m->a, &files, key->value.text))
        return false;
    for (int i = 0; i < files.n; i++)
        if (lists_word(rules_list(files.at[i].top, "model_type"),
                       key->value.text)) {
            *to = files.at[i];
            if (m->o->as)
                error_at(key->pos,
                         "model_type '%s' has rules of its own: --as is for "
                         "types without any",
                         key->value.text);
            return !m->o->as;
        }
    if (m->o->as)
        return alike_find(m, to);
    unknown_family(m, key);
    return false;
}

/* Applies the overlays whose conditions hold. An overlay is a rule file that
 * extends any family. */
static bool lay_over(Import *m)
{
    RuleFiles files = { 0 };
    if (!rules_read(m->a, &files, "\noverlay:"))
        return false;
    for (int i = 0; i < files.n; i++) {
        const Yaml *when = yaml_get(files.at[i].top, "when");
        if (!when || !import_truth(m, when))
            continue;
        const Yaml *over = rules_merged(m->a, &files.at[i], m->common);
        m->rules = over ? rules_over(m->a, m->rules, over) : NULL;
        if (over && rules_text(over, "task"))
            m->task = rules_text(over, "task");
    }
    return m->rules && !m->scope.failures;
}

/* Sets the task from the first entry of `architectures` in config.json. */
static bool find_task(Import *m)
{
    const Yaml *known = rules_map(m->rules, "architectures");
    ConfigKey *key = config_find(m->config, "architectures");
    const Datum *list = key ? &key->value : NULL;
    if (!known || !known->items.n)
        return true;
    m->task = known->items.at[0]->text;
    if (!list || list->kind == ValueNone
        || (list->kind == ValueList && !list->many.n))
        return true;
    const Datum *first = list->kind == ValueList ? &list->many.at[0] : NULL;
    if (!first || first->kind != ValueText) {
        error_at(key->pos, "architectures must be a list of names");
        return false;
    }
    const Yaml *word = m->o->as ? alike_class(known, first->text)
                                : yaml_get(known, first->text);
    if (word) {
        m->task = word->text;
        return true;
    }
    const char *names = "";
    for (int i = 0; i < known->keys.n; i++)
        names = arena_printf(m->a, "%s%s%s", names, i ? ", " : "",
                             known->keys.at[i]->text);
    error_at(key->pos, "architecture '%s' is not known to the rules of %s: %s",
             quote(first->text), m->family, names);
    return false;
}

static void know_given(Import *m)
{
    config_know(m->config, "architectures");
    config_know(m->config, "model_type");
}

static bool open_rules(Import *m, Imported *to)
{
    Rules family = { 0 };
    m->common = read_own(m) ? rules_common(m->a) : NULL;
    const bool gguf = m->gguf.kind == ValueMap;
    if (!m->common)
        return false;
    if (!(gguf ? gguf_family(m, &family) : find_family(m, &family)))
        return false;
    m->family = family.family;
    m->rules = rules_merged(m->a, &family, m->common);
    if (!m->rules || !rename_keys(m, m->common) || !rename_keys(m, m->rules))
        return false;
    to->title = rules_text(m->rules, "title");
    if (m->o->as) {
        to->alike = rules_text(m->rules, "alike");
        to->title = arena_printf(
            m->a, "model_type '%s', by the rules of %s",
            quote(config_find(m->config, "model_type")->value.text), m->family);
    }
    if (rules_text(m->rules, "section")
        && !config_raise(m->a, m->config, rules_text(m->rules, "section")))
        return false;
    know_given(m);
    bind_scope(m);
    if (gguf && !gguf_keys(m))
        return false;
    /* a family whose rules have no `spec` is always rejected */
    return rules_map(m->rules, "spec") || judge_refusals(m);
}

/* ---- spec ---- */
/* Returns the path of the file `to` relative to the directory of the file
 * `from`. Both directories must exist. */
static const char *way(Arena *a, const char *from, const char *to)
{
    char here[PATH_MAX], there[PATH_MAX];
    const char *name = base_name(to);
    if (!realpath(is_stream(from) ? "."
                                  : arena_printf(a, "%s.", folder_of(a, from)),
                  here)
        || !realpath(arena_printf(a, "%s.", folder_of(a, to)), there))
        return to;
    size_t same = 0;
    for (size_t i = 0; here[i] == there[i] || !here[i] || !there[i]; i++) {
        if ((!here[i] || here[i] == '/') && (!there[i] || there[i] == '/'))
            same = i;
        if (!here[i] || !there[i])
            break;
    }
    if (same == 0)
        return arena_printf(a, "%s%s%s", there, there[1] ? "/" : "", name);
    const char *path = "";
    for (const char *up = here + same; *up; up++)
        if (*up == '/')
            path = arena_printf(a, "../%s", path);
    const char *down = there + same + (there[same] == '/');
    return arena_printf(a, "%s%s%s%s", path, down, *down ? "/" : "", name);
}

static bool make_spec(Import *m, Imported *to)
{
    SpecTree t = { .m = m,
                   .spec = resolve_spec(m),
                   .names = resolve_names(m),
                   .comments = rules_map(m->rules, "comments"),
                   .title = to->title,
                   .weights = way(m->a, m->o->spec,
                                  m->made ? m->made : m->path) };
    if (!m->scope.failures)
        resolve_layers(m, t.spec);
    if (m->scope.failures)
        return false;
    vocabulary_drop_far(m, t.spec);
    spec_tree_shorten(&t);
    if (!import_chat(m, t.spec))
        return false;
    vocabularies_read(m, t.spec, to);
    names_drop_idle(m, &t);
    to->text = spec_tree_text(&t);
    to->n = strlen(to->text);
    if (m->scope.failures || !tensors_fit(m, &t, to))
        return false;
    to->text = spec_tree_text(&t);
    to->n = strlen(to->text);
    return true;
}

/* Reads the config and opens the weights, and evaluates all keys by the
 * rules. */
static bool read_model(Import *m, Imported *to)
{
    const bool gguf = is_gguf(m->o->folder);
    if (!(gguf ? gguf_read(m) : read_config(m)) || !open_rules(m, to)
        || !find_task(m) || (!gguf && !tensors_open(m)))
        return false;
    m->scope.tensors = gguf ? m->view : m->weights;
    to->weights = m->path;
    if (!lay_over(m))
        return false;
    const bool bound = bind_rules(m);
    return judge_refusals(m) && bound && judge_keys(m);
}

/* Reads the folders of the other checkpoints, which must have the same keys. */
static bool read_others(Import *m)
{
    const int n = m->o->n_others;
    ImportOptions *o = arena_alloc(m->a, ((size_t)n + 1) * sizeof *o);
    m->other = arena_alloc(m->a, ((size_t)n + 1) * sizeof *m->other);
    for (int i = 0; i < n; i++) {
        Imported to = { .arena = m->a };
        Import *other = &m->other[i];
        o[i] = (ImportOptions){ .folder = m->o->others[i],
                                .spec = m->o->spec,
                                .name = m->o->name,
                                .rules = m->o->rules,
                                .ignored = m->o->ignored,
                                .n_ignored = m->o->n_ignored };
        *other = (Import){ .a = m->a,
                           .o = &o[i],
                           .config = arena_alloc(m->a, sizeof *other->config),
                           .task = "",
                           .layer = -1 };
        other->config->top.kind = ValueNone;
        if (!read_model(other, &to))
            m->code = other->code ? other->code : ExitInput;
        if (m->code || !same_model(m, other))
            return false;
    }
    return true;
}

static bool import_all(Import *m, Imported *to)
{
    if (!read_model(m, to) || !read_others(m) || !join_weights(m, to)
        || !untie_weights(m))
        return false;
    to->made = m->made;
    return make_spec(m, to) && merge_weights(m);
}

static void close_weights(const Import *m)
{
    safetensors_close(m->view);
    safetensors_close(m->weights);
    for (int i = 0; i < m->n_joined; i++)
        safetensors_close(m->joined[i]);
    safetensors_close(m->tied);
}

int import_folder(Imported *to, const ImportOptions *o)
{
    Arena *a = arena_new();
    Config config = { .top = { .kind = ValueNone } };
    Import m = { .a = a, .o = o, .config = &config, .task = "", .layer = -1 };
    *to = (Imported){ .arena = a };
    const bool good = import_all(&m, to);
    if (m.tokenizer)
        free(m.tokenizer->block);
    for (int i = 0; m.other && i < o->n_others; i++)
        close_weights(&m.other[i]);
    close_weights(&m);
    return good ? ExitDone : m.code ? m.code : ExitInput;
}

void import_close(Imported *i)
{
    arena_free(i->arena);
    *i = (Imported){ 0 };
}
