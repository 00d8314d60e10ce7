/* bindings.c: resolves names in expressions: keys of config.json and other
 * files, with the defaults from their rules, and names that `let` defines. A
 * name is evaluated at its first use, so rules can be in any order. */
#include <string.h>
#include <unistd.h>

#include "import/state.h"

/* ---- keys ---- */

/* Finds the key of a binding under any of its names. If two names have
 * different values, reports an error. */
static const ConfigKey *find_key(Import *m, Binding *b)
{
    const ConfigKey *found = NULL;
    for (int i = 0; i < b->rule.names.n; i++) {
        ConfigKey *k = config_find(b->file, b->rule.names.at[i]);
        if (!k)
            continue;
        k->used = true;
        if (found && !value_same(&found->value, &k->value)
            && k->value.kind != ValueNone && found->value.kind != ValueNone) {
            expr_error(&m->scope, k->pos, "%s is %s, but %s says %s",
                       quote(k->path), value_text(m->a, &k->value),
                       quote(found->path), value_text(m->a, &found->value));
            note_at(found->pos, "%s is here", quote(found->path));
        }
        if (!found || found->value.kind == ValueNone)
            found = k;
    }
    return found;
}

static Datum default_value_of(Import *m, const Binding *b)
{
    if (b->rule.default_value)
        return expr_value(&m->scope, b->rule.default_value);
    if (!b->rule.null && !(b->rule.kinds & (ValueList | ValueMap)) && b->file
        && b->file->src.name)
        expr_error(&m->scope, (Pos){ &b->file->src, 1, 1 },
                   "'%s' is missing: %s", b->rule.names.at[0],
                   kind_text(m->a, b->rule.kinds));
    return (Datum){ .kind = ValueNone };
}

static Datum key_value(Import *m, Binding *b)
{
    const ConfigKey *k = find_key(m, b);
    if (!k || (k->value.kind == ValueNone && !b->rule.null))
        return default_value_of(m, b);
    if (k->value.kind == ValueNone || (k->value.kind & b->rule.kinds))
        return k->value;
    const char *text = value_text(m->a, &k->value);
    return expr_error(&m->scope, k->pos, "%s must be %s, found %s%s%s",
                      quote(k->path), kind_text(m->a, b->rule.kinds),
                      k->value.kind == ValueText ? "\"" : "", quote(text),
                      k->value.kind == ValueText ? "\"" : "");
}

/* Returns the value of a binding. Evaluates it once or, if it depends on the
 * layer `i`, at every use. */
static Datum binding_value(Import *m, Binding *b)
{
    if (b->state == BindingBusy) {
        expr_error(&m->scope, b->rule.pos, "'%s' needs itself", b->name);
        return (Datum){ .kind = ValueNone };
    }
    if (b->state == BindingNew) {
        const bool before = m->of_layer;
        m->of_layer = false;
        b->state = BindingBusy;
        b->value = b->expr ? expr_value(&m->scope, b->expr) : key_value(m, b);
        b->state = m->of_layer ? BindingNew : BindingDone;
        m->of_layer = m->of_layer || before;
    }
    return b->value;
}

/* ---- scope ---- */
static Import *owner(Scope *s)
{
    return s->of;
}

static Datum layer_number(Import *m, const Expr *e)
{
    m->of_layer = true;
    if (m->layer < 0)
        return expr_error(&m->scope, e ? e->pos : (Pos){ 0 },
                          "'i' is the number of a layer, below `layer` alone");
    return (Datum){ .kind = ValueInt, .whole = m->layer };
}

static bool find_name(Scope *s, const Expr *e, const char *name, Datum *to)
{
    Import *m = owner(s);
    if (!strcmp(name, "i")) {
        *to = layer_number(m, e);
        return true;
    }
    if (!strcmp(name, "task")) {
        *to = (Datum){ .kind = ValueText, .text = m->task };
        return true;
    }
    if (!strcmp(name, "vectors")) {
        *to = (Datum){ .kind = m->o->vectors ? ValueText : ValueNone,
                       .text = m->o->vectors };
        return true;
    }
    if (!strcmp(name, "format")) {
        const bool gguf = m->gguf.kind == ValueMap;
        *to = (Datum){ .kind = ValueText,
                       .text = gguf ? "gguf" : "safetensors" };
        return true;
    }
    if (!strncmp(name, "gguf.", 5)) {
        const Datum *v = gguf_value(m, name + 5);
        *to = v ? *v : (Datum){ .kind = ValueNone };
        return true;
    }
    const int i = index_find(&m->names, name);
    if (i >= 0)
        *to = binding_value(m, &m->binding.at[i]);
    return i >= 0;
}

static const Datum *find_table(Scope *s, const char *name)
{
    Import *m = owner(s);
    const Yaml *of[2] = { m->rules, m->common };
    for (int i = 0; i < 2; i++) {
        const Yaml *tables = rules_map(of[i], "tables");
        const Yaml *table = tables ? yaml_get(tables, name) : NULL;
        if (!table)
            continue;
        Datum *v = arena_alloc(m->a, sizeof *v);
        *v = value_of_yaml(m->a, table);
        return v;
    }
    return NULL;
}

static bool find_file(Scope *s, const char *name, const char *text)
{
    Import *m = owner(s);
    const char *path = arena_printf(m->a, "%s/%s", m->o->folder, name);
    Fault why;
    File f;
    if (!text)
        return !access(path, F_OK);
    if (!file_read(&f, path, 1 << 20, &why))
        return false;
    const char *all = arena_strndup(m->a, (const char *)f.at, f.size);
    const bool found = strstr(all, text) != NULL;
    file_close(&f);
    return found;
}

static bool find_written(Scope *s, const char *path)
{
    return config_find(owner(s)->config, path) != NULL;
}

void bind_scope(Import *m)
{
    m->scope = (Scope){ .arena = m->a,
                        .of = m,
                        .name = find_name,
                        .table = find_table,
                        .has_file = find_file,
                        .has_key = find_written,
                        .token = vocabulary_token,
                        .pair = pair_texts_get,
                        .tensors = m->weights };
}

/* ---- rules ---- */
static void bind(Import *m, Binding b)
{
    vec_push(m->a, &m->binding, b);
    index_add(m->a, &m->names, b.name, m->binding.n - 1);
}

/* Binds the keys of a file. `under` is a prefix for their names: "generation."
 * or "". */
static bool bind_keys(Import *m, const Yaml *keys, Config *file,
                      const char *under)
{
    bool good = true;
    for (int i = 0; keys && i < keys->keys.n; i++) {
        Binding b = { .file = file };
        if (!rules_key(m->a, keys->keys.at[i], keys->items.at[i], &b.rule)) {
            good = false;
            continue;
        }
        b.name = arena_printf(m->a, "%s%s", under, b.rule.names.at[0]);
        bind(m, b);
    }
    return good;
}

static bool bind_let(Import *m, const Yaml *let)
{
    bool good = true;
    for (int i = 0; let && i < let->keys.n; i++) {
        const Yaml *y = let->items.at[i];
        Binding b = { .name = let->keys.at[i]->text,
                      .rule = { .pos = let->keys.at[i]->pos } };
        if (y->kind != YamlScalar) {
            error_at(y->pos, "let has an expression here");
            return false;
        }
        b.expr = expr_parse(m->a, y, 0);
        good = good && b.expr;
        if (b.expr)
            bind(m, b);
    }
    return good;
}

/* Returns a path relative to the folder. If the text starts with '=', it is an
 * expression whose value is the path. */
static const char *path_of(Import *m, const Yaml *y)
{
    if (y->text[0] != '=')
        return y->text;
    const Datum v = import_value(m, y, 1);
    return v.kind == ValueText ? v.text : NULL;
}

static bool leaves_folder(const char *path)
{
    const char *at = path;
    while ((at = strstr(at, "..")) != NULL
           && ((at > path && at[-1] != '/') || (at[2] && at[2] != '/')))
        at++;
    return *path == '/' || at;
}

static bool bind_file(Import *m, const char *name, const Yaml *row)
{
    const Yaml *path = row->kind == YamlMap ? yaml_get(row, "path") : row;
    const Yaml *keys = row->kind == YamlMap ? rules_map(row, "keys") : NULL;
    Config *file = arena_alloc(m->a, sizeof *file);
    if (!path || path->kind != YamlScalar) {
        error_at(row->pos, "a file has a path");
        return false;
    }
    const char *to = path_of(m, path);
    if (to && leaves_folder(to)) {
        error_at(path->pos, "%s is out of the folder", quote(to));
        return false;
    }
    if (to
        && !config_read(m->a, arena_printf(m->a, "%s/%s", m->o->folder, to),
                        false, file, &m->code))
        return false;
    if (!keys) { /* if the rules list no keys, the file is one value */
        KeyRule rule = { .null = true };
        bind(m, (Binding){ .name = name,
                           .rule = rule,
                           .file = file,
                           .state = BindingDone,
                           .value = file->top });
        return true;
    }
    vec_push(m->a, &m->files, ((JsonFile){ name, file }));
    return bind_keys(m, keys, file, arena_printf(m->a, "%s.", name));
}

bool bind_rules(Import *m)
{
    const Yaml *files = rules_map(m->rules, "files");
    bool good = bind_keys(m, rules_map(m->rules, "config"), m->config, "");
    good = bind_let(m, rules_map(m->rules, "let")) && good;
    for (int i = 0; good && files && i < files->keys.n; i++)
        good = bind_file(m, files->keys.at[i]->text, files->items.at[i]);
    for (int i = 0; good && i < m->binding.n; i++)
        if (!m->binding.at[i].expr)
            binding_value(m, &m->binding.at[i]);
    return good && m->scope.failures == 0;
}

/* ---- for others ---- */
Datum import_value(Import *m, const Yaml *scalar, size_t start)
{
    const Expr *e = expr_parse(m->a, scalar, start);
    if (e)
        return expr_value(&m->scope, e);
    m->scope.failures++;
    return (Datum){ .kind = ValueNone };
}

bool import_truth(Import *m, const Yaml *scalar)
{
    const Expr *e = scalar->kind == YamlScalar ? expr_parse(m->a, scalar, 0)
                                               : NULL;
    if (e)
        return expr_truth(&m->scope, e);
    m->scope.failures++;
    return false;
}

const char *import_filled(Import *m, const Yaml *at, const char *text)
{
    Buffer b = { .arena = m->a };
    while (*text) {
        const size_t plain = strcspn(text, "{");
        buffer_add(&b, text, plain);
        text += plain;
        const char *end = strchr(text, '}');
        if (!*text)
            break;
        if (!end || !strncmp(text, "{i}", 3) || !strncmp(text, "{e}", 3)) {
            buffer_add(&b, text, end ? 3 : 1);
            text += end ? 3 : 1;
            continue;
        }
        Datum v;
        const char *name = arena_strndup(m->a, text + 1,
                                         (size_t)(end - text - 1));
        if (!find_name(&m->scope, NULL, name, &v)) {
            expr_error(&m->scope, at->pos, "'%s' is no key and no value of let",
                       quote(name));
            return NULL;
        }
        const char *value = value_text(m->a, &v);
        buffer_add(&b, value, strlen(value));
        text = end + 1;
    }
    return b.at ? b.at : "";
}
