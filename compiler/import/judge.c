/* judge.c: rejects models that the rules of their family do not support, and
 * keys that no rule knows. */
#include <string.h>

#include "import/state.h"

/* ---- refusals ---- */
static bool refuse_row(Import *m, const Yaml *row)
{
    const Yaml *when = row->kind == YamlMap ? yaml_get(row, "when") : NULL;
    const Yaml *what = row->kind == YamlMap ? yaml_get(row, "missing") : NULL;
    const Yaml *key = row->kind == YamlMap ? yaml_get(row, "key") : NULL;
    if (!when || !what) {
        error_at(row->pos, "a refusal has `when` and `missing`");
        m->scope.failures++;
        return true;
    }
    if (!import_truth(m, when))
        return false;
    const ConfigKey *k = config_find(m->config, key ? key->text : "model_type");
    const ConfigKey *type = config_find(m->config, "model_type");
    const Pos pos = k ? k->pos : (Pos){ &m->config->src, 1, 1 };
    const bool named = type && type->value.kind == ValueText;
    error_at(pos, "%s needs what is not there yet: %s",
             named ? type->value.text : m->family,
             import_filled(m, what, what->text));
    return true;
}

/* Returns true if `v` is the value that the rule wants. */
static bool expected(const Datum *v, const Datum *wanted)
{
    if (wanted->kind != ValueList)
        return value_same(v, wanted);
    for (int i = 0; i < wanted->many.n; i++)
        if (value_same(v, &wanted->many.at[i]))
            return true;
    return v->kind == ValueList && value_same(v, wanted);
}

static const char *wanted_text(Import *m, const Datum *wanted)
{
    if (wanted->kind != ValueList)
        return value_text(m->a, wanted);
    const char *text = "";
    for (int i = 0; i < wanted->many.n; i++)
        text = arena_printf(m->a, "%s%s%s", text, i ? ", " : "",
                            value_text(m->a, &wanted->many.at[i]));
    return text;
}

static bool refuse_unexpected(Import *m, const char *key, const Yaml *row)
{
    ConfigKey *k = config_find(m->config, key);
    if (!k)
        return false;
    config_know(m->config, key);
    const Datum wanted = value_of_yaml(m->a, row);
    if (k->value.kind == ValueNone || expected(&k->value, &wanted))
        return false;
    error_at(k->pos, "%s with %s: %s is not known here, only %s", m->family,
             quote(key), quote(value_text(m->a, &k->value)),
             wanted_text(m, &wanted));
    return true;
}

bool judge_refusals(Import *m)
{
    const Yaml *refuse = rules_list(m->rules, "refuse");
    const Yaml *expect = rules_map(m->rules, "expect");
    for (int i = 0; refuse && i < refuse->items.n; i++)
        if (refuse_row(m, refuse->items.at[i]))
            return false;
    bool good = true;
    for (int i = 0; expect && i < expect->keys.n; i++)
        good = !refuse_unexpected(m, expect->keys.at[i]->text,
                                  expect->items.at[i])
            && good;
    return good && m->scope.failures == 0;
}

/* ---- unknown keys ---- */
static void know_all(Config *file, const Yaml *ignored)
{
    for (int i = 0; ignored && i < ignored->items.n; i++)
        config_know(file, ignored->items.at[i]->text);
}

static void know_all_in(JsonFile *f, const Yaml *by_file)
{
    know_all(f->file, by_file ? yaml_get(by_file, f->name) : NULL);
}

/* Marks the listed keys as known where they are off. */
static void know_off(Config *file, const Yaml *list)
{
    for (int i = 0; list && i < list->items.n; i++) {
        ConfigKey *k = config_find(file, list->items.at[i]->text);
        if (k && value_is_off(&k->value))
            k->used = true;
    }
}

/* Marks a key that the user allows as known, if the file has it. */
static bool know_given_key(Config *file, const char *name)
{
    const ConfigKey *k = config_find(file, name);
    if (!k)
        return false;
    const bool known = config_knows(file, k);
    warning_at(k->pos,
               known ? "'%s' is a key that the rules know: --ignore-key does "
                       "not change how it is read"
                     : "'%s' is ignored, as --ignore-key asks",
               quote(name));
    if (!known)
        config_know(file, name);
    return true;
}

static void know_given_keys(Import *m)
{
    for (int i = 0; i < m->o->n_ignored; i++) {
        const char *name = m->o->ignored[i];
        bool found = know_given_key(m->config, name);
        for (int f = 0; f < m->files.n; f++)
            found = know_given_key(m->files.at[f].file, name) || found;
        if (!found)
            warning_once("--ignore-key: no file of %s has the key '%s'",
                         quote(m->o->folder), quote(name));
    }
}

static bool refuse_quantised(Import *m)
{
    const ConfigKey *k = config_find(m->config, "quantization_config");
    const ConfigKey *method = config_find(m->config,
                                          "quantization_config.quant_method");
    if (!k || value_is_off(&k->value))
        return false;
    error_at(k->pos, "these weights are quantised (%s): that is not read yet",
             method && method->value.kind == ValueText
                 ? quote(method->value.text)
                 : "no quant_method");
    note_at((Pos){ 0 }, "import the checkpoint that they were made from, and "
                        "set dtype in the spec: int8 or int4");
    return true;
}

/* Reports the unknown keys of a file and returns their number. */
static int unknown_in(Import *m, Config *file, const char *title)
{
    const char *known[256];
    int n = 0;
    for (int i = 0; i < m->binding.n && n < 256; i++) {
        const Binding *b = &m->binding.at[i];
        for (int k = 0; b->file == file && k < b->rule.names.n && n < 256; k++)
            known[n++] = b->rule.names.at[k];
    }
    return config_unknown(m->a, file, title, known, n);
}

/* ---- noted ---- */

const ConfigKey *generation_key(const Import *m, const char *key)
{
    for (int i = 0; i < m->files.n; i++) {
        const ConfigKey *k = config_find(m->files.at[i].file, key);
        if (k)
            return k;
    }
    return config_find(m->config, key);
}

/* Prints one note about all keys of a row whose values are not the neutral
 * ones. */
static void note_keys(Import *m, const Yaml *row)
{
    const Yaml *keys = yaml_get(row, "keys");
    const Yaml *said = yaml_get(row, "says");
    const char *text = "", *file = "";
    for (int n = 0; n < keys->keys.n; n++) {
        const ConfigKey *k = generation_key(m, keys->keys.at[n]->text);
        const Datum neutral = value_of_yaml(m->a, keys->items.at[n]);
        if (!k || k->value.kind == ValueNone || value_same(&k->value, &neutral))
            continue;
        const bool map = k->value.kind == ValueMap;
        text = arena_printf(m->a, "%s%s%s%s%s", text, *text ? ", " : "",
                            k->path, map ? "" : " ",
                            map ? "" : quote(value_text(m->a, &k->value)));
        file = *file      ? file
             : k->pos.src ? k->pos.src->name
                          : m->o->folder; /* metadata have no place */
    }
    if (*text)
        note_once("%s: %s: %s", quote(file), text,
                  said ? import_filled(m, said, said->text)
                       : "an answer is searched for without that here, and may "
                         "differ from that of transformers");
}

/* Prints notes about keys that are ignored although their values have an
 * effect. */
static void note_all(Import *m)
{
    const Yaml *noted = rules_list(m->rules, "noted");
    for (int i = 0; noted && i < noted->items.n; i++)
        if (import_truth(m, yaml_get(noted->items.at[i], "when")))
            note_keys(m, noted->items.at[i]);
}

bool judge_keys(Import *m)
{
    int unknown = 0;
    if (refuse_quantised(m))
        return false;
    know_all(m->config, rules_list(m->common, "ignored"));
    know_all(m->config, rules_list(m->rules, "ignored"));
    know_off(m->config, rules_list(m->common, "off"));
    for (int i = 0; i < m->files.n; i++) {
        JsonFile *f = &m->files.at[i];
        know_all(f->file, rules_list(m->common, "ignored"));
        know_all_in(f, rules_map(m->common, "ignored_in"));
        know_all_in(f, rules_map(m->rules, "ignored_in"));
        know_off(f->file, rules_list(m->common, "off"));
    }
    know_given_keys(m);
    unknown += unknown_in(m, m->config, m->family);
    for (int i = 0; i < m->files.n; i++)
        unknown += unknown_in(m, m->files.at[i].file, m->family);
    if (unknown == 0)
        note_all(m);
    return unknown == 0 && m->scope.failures == 0;
}
