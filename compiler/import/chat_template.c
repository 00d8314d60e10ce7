/* chat_template.c: finds the text before and after each turn of a conversation.
 * A tokenizer describes it as a template, a small program that attnc never
 * runs. Instead, models/import/chat.yaml lists the texts of known templates. */
#include <string.h>

#include "emit/text/embedded.h"
#include "import/state.h"

static const char table_name[] = "import/chat.yaml";

static const Yaml *known_templates(Arena *a)
{
    for (int i = 0; i < n_embedded; i++) {
        if (strcmp(embedded[i].name, table_name) != 0)
            continue;
        Source *src = arena_alloc(a, sizeof *src);
        *src = (Source){ table_name, embedded[i].text, strlen(embedded[i].text),
                         0 };
        const Yaml *top = yaml_parse(a, src, 0);
        return top ? rules_list(top, "templates") : NULL;
    }
    die("%s is not among the embedded files", table_name);
}

/* ---- template ---- */

/* Returns the template named "default" from a list of named ones, or NULL. */
static const Datum *default_template(const Datum *list)
{
    for (int i = 0; i < list->many.n; i++) {
        const Datum *item = &list->many.at[i];
        const Datum *name = item->kind == ValueMap ? value_get(item, "name")
                                                   : NULL;
        if (name && name->kind == ValueText && !strcmp(name->text, "default"))
            return value_get(item, "template");
    }
    return NULL;
}

/* Returns the text of a token in the tokenizer's file, where it is a string or
 * a map; "" if it is absent. */
static const char *token_text(Config *c, const char *key)
{
    const Datum *v = c->top.kind == ValueMap ? value_get(&c->top, key) : NULL;
    if (v && v->kind == ValueMap)
        v = value_get(v, "content");
    return v && v->kind == ValueText ? v->text : "";
}

/* Returns the template and sets its position; NULL if the folder has none. */
static const char *template_text(Import *m, const Config *c, Pos *pos)
{
    const char *path = arena_printf(m->a, "%s/chat_template.jinja",
                                    m->o->folder);
    const Datum *v = c->top.kind == ValueMap
                       ? value_get(&c->top, "chat_template")
                       : NULL;
    Fault why;
    File file;
    if (v && v->kind == ValueList)
        v = default_template(v);
    if (v && v->kind == ValueText) {
        *pos = v->pos;
        return v->text;
    }
    if (!file_read(&file, path, 1 << 20, &why))
        return NULL;
    const char *text = arena_strndup(m->a, (const char *)file.at, file.size);
    Source *src = arena_alloc(m->a, sizeof *src);
    *src = (Source){ path, text, file.size, 0 };
    *pos = (Pos){ src, 1, 1 };
    file_close(&file);
    return text;
}

/* ---- rows ---- */
static bool has_words(const char *text, const Yaml *words, bool wanted)
{
    for (int i = 0; words && i < words->items.n; i++)
        if ((strstr(text, words->items.at[i]->text) != NULL) != wanted)
            return false;
    return true;
}

/* Replaces {bos} and {eos} with the tokenizer's tokens. */
static const char *with_tokens(Import *m, Config *c, const char *text)
{
    static const char *const marks[][2] = { { "{bos}", "bos_token" },
                                            { "{eos}", "eos_token" } };
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(text, marks[i][0]);
        if (at)
            text = arena_printf(m->a, "%.*s%s%s", (int)(at - text), text,
                                token_text(c, marks[i][1]),
                                at + strlen(marks[i][0]));
    }
    return text;
}

static Yaml *filled(Import *m, Config *c, const Yaml *y)
{
    if (y->kind == YamlScalar)
        return scalar_new(m->a, with_tokens(m, c, y->text), y->quoted);
    Yaml *map = map_new(m->a);
    for (int i = 0; i < y->keys.n; i++)
        map_set(m->a, map, y->keys.at[i]->text, filled(m, c, y->items.at[i]));
    return map;
}

static void unknown_template(Import *m, Pos pos, const Yaml *rows)
{
    const char *names = "";
    for (int i = 0; i < rows->items.n; i++) {
        const Yaml *name = yaml_get(rows->items.at[i], "name");
        names = arena_printf(m->a, "%s%s%s", names, i ? "; " : "",
                             name ? name->text : "");
    }
    warning_at(pos,
               "the chat template is none of those that are known: the spec "
               "gets no `chat`, and --chat needs one; known are %s",
               names);
}

/* Returns the text of the token whose id is the value of `key`; "" if
 * absent. */
static Datum gguf_token(Import *m, const char *key)
{
    const Datum *id = value_get(&m->gguf, key);
    const Datum *list = value_get(&m->gguf, "tokenizer.ggml.tokens");
    Datum text = { .kind = ValueText, .text = "" };
    if (id && id->kind == ValueInt && list && list->kind == ValueList
        && id->whole >= 0 && id->whole < list->many.n)
        text = list->many.at[id->whole];
    return text;
}

/* Sets the keys that tokenizer_config.json would have, from a .gguf file. */
static void read_gguf(Import *m, Config *c)
{
    static const char *const keys[] = { "bos_token", "eos_token",
                                        "chat_template" };
    const Datum *text = value_get(&m->gguf, "tokenizer.chat_template");
    Datum *at = arena_alloc(m->a, 3 * sizeof *at);
    at[0] = gguf_token(m, "tokenizer.ggml.bos_token_id");
    at[1] = gguf_token(m, "tokenizer.ggml.eos_token_id");
    at[2] = text ? *text : (Datum){ .kind = ValueNone };
    c->top = (Datum){ .kind = ValueMap, .many = { at, keys, 3 } };
}

bool import_chat(Import *m, Yaml *spec)
{
    const Yaml *kind = yaml_get(spec, "kind");
    const char *path = arena_printf(m->a, "%s/tokenizer_config.json",
                                    m->o->folder);
    Config c = { .top = { .kind = ValueNone } };
    Pos pos = { 0 };
    if (!kind || strcmp(kind->text, "decoder") || yaml_get(spec, "head"))
        return true;
    if (m->gguf.kind == ValueMap)
        read_gguf(m, &c);
    else if (!config_read(m->a, path, true, &c, &m->code))
        return false;
    const char *text = template_text(m, &c, &pos);
    if (!text)
        return true;
    const Yaml *rows = known_templates(m->a);
    for (int i = 0; rows && i < rows->items.n; i++) {
        const Yaml *row = rows->items.at[i];
        if (!has_words(text, yaml_get(row, "has"), true)
            || !has_words(text, yaml_get(row, "lacks"), false))
            continue;
        map_set(m->a, spec, "chat", filled(m, &c, yaml_get(row, "chat")));
        return true;
    }
    if (rows)
        unknown_template(m, pos, rows);
    return rows;
}
