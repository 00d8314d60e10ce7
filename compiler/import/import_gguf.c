/* import_gguf.c: imports a .gguf file of llama.cpp instead of a folder. The
 * family is the one whose rules name the file's architecture. The section
 * `gguf` of these rules maps metadata to keys of config.json, and tensor names
 * to those of a folder, so all other rules are the same for both. */
#include <ctype.h>
#include <string.h>

#include "import/state.h"
#include "runtime/weights/gguf.h"

/* ---- names ---- */

/* Matches `pattern` against the first segments of `text`. Returns the number of
 * bytes that match, or -1. {i} matches a number or "{i}", which is copied to
 * layer[]. */
static int taken(const char *pattern, const char *text, char layer[16])
{
    const char *at = text;
    while (*pattern) {
        size_t n = 1;
        if (!strncmp(pattern, "{i}", 3)) {
            n = !strncmp(at, "{i}", 3) ? 3 : strspn(at, "0123456789");
            if (n == 0 || n > 15)
                return -1;
            memcpy(layer, at, n);
            layer[n] = '\0';
            pattern += 2;
        } else if (*at != *pattern) {
            return -1;
        }
        at += n;
        pattern++;
    }
    return !*at || *at == '.' ? (int)(at - text) : -1;
}

static const char *with_layer(Arena *a, const char *pattern, const char *layer)
{
    const char *i = strstr(pattern, "{i}");
    return !i ? pattern
              : arena_printf(a, "%.*s%s%s", (int)(i - pattern), pattern, layer,
                             i + 3);
}

/* Translates a name according to the first row that matches, or returns it
 * unchanged. If `back` is set, translates from the rules' name to the file's,
 * otherwise the other way. */
static const char *translated(Import *m, const char *name, bool back)
{
    const Yaml *gguf = rules_map(m->rules, "gguf");
    const Yaml *rows = gguf ? yaml_get(gguf, "names") : NULL;
    for (int i = 0; rows && i < rows->keys.n; i++) {
        const char *there = rows->keys.at[i]->text;
        const char *here = rows->items.at[i]->text;
        char layer[16] = "";
        const int n = taken(back ? here : there, name, layer);
        if (n >= 0)
            return arena_printf(m->a, "%s%s",
                                with_layer(m->a, back ? there : here, layer),
                                name + n);
    }
    return name;
}

const char *gguf_stored(Import *m, const char *name)
{
    return m->gguf.kind == ValueMap ? translated(m, name, true) : name;
}

const char *gguf_called(Import *m, const char *name)
{
    return m->gguf.kind == ValueMap ? translated(m, name, false) : name;
}

/* ---- file ---- */

/* Checks that the file is a complete model. A .gguf file can also be an
 * adapter, a vocabulary, one part of a model, or statistics. */
static bool check_contents(Import *m, Fault *why)
{
    const Datum *type = value_get(&m->gguf, "general.type");
    const Datum *parts = value_get(&m->gguf, "split.count");

    if (type && type->kind == ValueText && strcmp(type->text, "model") != 0)
        return fault(why, ExitInput,
                     "%s: its general.type is '%s': give the file of the "
                     "model itself",
                     m->path, type->text);
    if (parts && parts->kind == ValueInt && parts->whole > 1)
        return fault(why, ExitInput,
                     "%s: is one of %lld parts of a model: join them first, as "
                     "by `llama-gguf-split --merge`",
                     m->path, (long long)parts->whole);
    return safetensors_count(m->weights) > 0
        || fault(why, ExitInput,
                 "%s: has no tensors, so it is a vocabulary alone: give the "
                 "file of the model",
                 m->path);
}

bool gguf_read(Import *m)
{
    Fault why;
    json_t *j = gguf_metadata(m->o->folder, &why);
    if (!j) {
        m->code = report_fault(&why);
        return false;
    }
    m->gguf = value_of_json(m->a, j, (Pos){ 0 });
    json_decref(j);
    m->path = m->o->folder;
    m->weights = safetensors_open(m->path, &why);
    if (!m->weights || !check_contents(m, &why))
        m->code = report_fault(&why);
    m->config->src = (Source){ .name = m->o->folder, .text = "" };
    m->config->top.kind = ValueMap;
    return m->code == ExitDone;
}

static bool names_architecture(const Rules *r, const char *word)
{
    const Yaml *gguf = rules_map(r->top, "gguf");
    const Yaml *list = gguf ? yaml_get(gguf, "architecture") : NULL;
    for (int i = 0; list && i < list->items.n; i++)
        if (!strcmp(list->items.at[i]->text, word))
            return true;
    return false;
}

bool gguf_family(Import *m, Rules *to)
{
    const char *word = gguf_architecture(m), *known = "";
    RuleFiles files = { 0 };
    if (!word) {
        error_at((Pos){ 0 }, "%s: general.architecture is missing",
                 quote(m->path));
        return false;
    }
    if (m->own.top) {
        *to = m->own;
        if (names_architecture(to, word))
            return true;
        error_at((Pos){ 0 }, "%s has no rules for a gguf of architecture '%s'",
                 quote(to->name), quote(word));
        return false;
    }
    if (!rules_read(m->a, &files, "\ngguf:"))
        return false;
    for (int i = 0; i < files.n; i++) {
        if (names_architecture(&files.at[i], word)) {
            *to = files.at[i];
            return true;
        }
        known = arena_printf(m->a, "%s%s%s", known, i ? ", " : "",
                             files.at[i].family);
    }
    error_at((Pos){ 0 },
             "%s: no rules are known for a gguf of architecture '%s': the "
             "families that have some are %s; the folder that it was made of "
             "may be known",
             quote(m->path), quote(word), known);
    return false;
}

/* ---- keys ---- */

static void put_gguf_key(Import *m, const char *path, const Datum *value)
{
    ConfigKey key = { .path = path, .value = *value, .used = true };
    key.value.pos = (Pos){ 0 };
    vec_push(m->a, &m->config->key, key);
}

/* Returns true if the expression contains the key as "gguf.KEY". */
static bool mentions(const char *text, const char *key)
{
    static const char mark[] = "gguf.";
    const size_t n = strlen(key);
    while ((text = strstr(text, mark))) {
        text += sizeof mark - 1;
        if (!strncmp(text, key, n) && !isalnum((unsigned char)text[n])
            && text[n] != '_' && text[n] != '.')
            return true;
    }
    return false;
}

static bool lists_key(const Yaml *list, const char *key)
{
    for (int i = 0; list && i < list->items.n; i++) {
        const char *text = list->items.at[i]->text;
        if (text[0] == '=' ? mentions(text, key) : !strcmp(text, key))
            return true;
    }
    return false;
}

/* Reports metadata keys of the architecture that no rule covers. Returns false
 * if there are any. */
static bool know_metadata(Import *m, const Yaml *gguf)
{
    const char *word = gguf_architecture(m);
    const size_t n = strlen(word);
    bool good = true;
    for (int i = 0; i < m->gguf.many.n; i++) {
        const char *key = m->gguf.many.key[i];
        if (strncmp(key, word, n) || key[n] != '.'
            || lists_key(yaml_get(gguf, "keys"), key + n + 1)
            || lists_key(yaml_get(gguf, "ignored"), key + n + 1))
            continue;
        error_at((Pos){ 0 },
                 "%s: '%s' is a key that the rules of %s do not know",
                 quote(m->path), quote(key), m->family);
        good = false;
    }
    return good;
}

bool gguf_keys(Import *m)
{
    const Yaml *gguf = rules_map(m->rules, "gguf");
    const Yaml *keys = gguf ? yaml_get(gguf, "keys") : NULL;
    const int n = safetensors_count(m->weights);
    const char **names = arena_alloc(m->a, ((size_t)n + 1) * sizeof *names);
    for (int i = 0; i < n; i++)
        names[i] = gguf_called(m, safetensors_at(m->weights, i)->name);
    m->view = safetensors_renamed(m->weights, names);
    if (!m->view)
        fail(ExitResource, "%s: out of memory", quote(m->path));
    m->scope.tensors = m->view;
    for (int i = 0; keys && i < keys->keys.n; i++) {
        const Yaml *from = keys->items.at[i];
        if (from->text[0] == '=') {
            const Datum v = import_value(m, from, 1);
            put_gguf_key(m, keys->keys.at[i]->text, &v);
            continue;
        }
        const Datum *v = gguf_value(m, from->text);
        if (v)
            put_gguf_key(m, keys->keys.at[i]->text, v);
    }
    return know_metadata(m, gguf) && m->scope.failures == 0;
}
