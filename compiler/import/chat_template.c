/* chat_template.c: finds the text before and after each turn of a conversation.
 * A tokenizer describes it as a template, a small program. The texts are what
 * the template writes around known turns. They are taken if they then give the
 * same conversations as the template (chat_texts.c). */
#include <string.h>

#include "import/chat_texts.h"
#include "import/state.h"

/* ---- template ---- */

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

/* ---- spec ---- */
static void put_texts(Arena *a, Yaml *to, const char *role,
                      const struct attn_chat_role *texts)
{
    Yaml *map = map_new(a);
    if (*texts->prefix)
        map_set(a, map, "prefix", scalar_new(a, texts->prefix, true));
    if (*texts->suffix)
        map_set(a, map, "suffix", scalar_new(a, texts->suffix, true));
    map_set(a, to, role, map);
}

static Yaml *chat_map(Arena *a, const struct attn_chat *c)
{
    static const char *const trims[] = { "none", "turns", "texts", "all" };
    Yaml *to = map_new(a);
    if (*c->begin)
        map_set(a, to, "begin", scalar_new(a, c->begin, true));
    if (c->trim != ATTN_TRIM_NONE)
        map_set(a, to, "trim", scalar_new(a, trims[c->trim], false));
    put_texts(a, to, "system", &c->system);
    Yaml *system = to->items.at[to->items.n - 1];
    if (c->system_text)
        map_set(a, system, "text", scalar_new(a, c->system_text, true));
    if (c->system_inside)
        map_set(a, system, "inside", scalar_new(a, "true", false));
    if (c->system_skipped)
        map_set(a, system, "skip_empty", scalar_new(a, "true", false));
    if (!system->keys.n)
        map_take(to, "system");
    put_texts(a, to, "user", &c->user);
    put_texts(a, to, "assistant", &c->assistant);
    for (int i = to->keys.n - 1; i >= 0; i--)
        if (to->items.at[i]->kind == YamlMap && !to->items.at[i]->keys.n)
            map_take(to, to->keys.at[i]->text);
    return to;
}

/* Returns true if the spec can have all texts of a conversation. */
static bool can_be_written(Arena *a, const struct attn_chat *c)
{
    const char *const texts[] = { c->begin,
                                  c->system.prefix,
                                  c->system.suffix,
                                  c->system_text,
                                  c->user.prefix,
                                  c->user.suffix,
                                  c->assistant.prefix,
                                  c->assistant.suffix };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && !spec_tree_takes(a, texts[i]))
            return false;
    return true;
}

/* Adds the texts that the template writes to the spec, or warns. */
static void add_texts(Import *m, const Config *c, const char *text, Pos pos,
                      Yaml *spec)
{
    static const char *const names[] = { "bos_token", "eos_token", "unk_token",
                                         "pad_token" };
    ChatTemplate t = { .arena = m->a, .text = text };
    struct attn_chat chat;
    for (int i = 0; i < 4; i++) {
        t.token[i] = template_token(c, names[i]);
        t.token_name[i] = names[i];
    }
    const char *why = chat_texts(&t, &chat);
    if (!why && !can_be_written(m->a, &chat))
        why = "a spec cannot have its texts";
    if (!why && !*chat.user.prefix && !*chat.user.suffix
        && !*chat.assistant.prefix)
        why = "it writes nothing around a turn of the user";
    if (why) {
        warning_at(pos,
                   "the chat template cannot be written as `chat` (%s): the "
                   "spec gets none, and --chat needs one",
                   why);
        return;
    }
    if (t.differs)
        warning_at(pos,
                   "`chat` formats other conversations like the chat template, "
                   "but not these: %s",
                   t.differs);
    if (t.dated)
        warning_at(pos, "the chat template writes the date of the day, and the "
                        "spec has 26 July 2024: change it in `chat`");
    map_set(m->a, spec, "chat", chat_map(m->a, &chat));
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
    add_texts(m, &c, text, pos, spec);
    return true;
}
