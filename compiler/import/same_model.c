/* same_model.c: compares the configs of two folders, key by key as the rules
 * read them: old names are new ones, and a missing key has its default. Keys
 * that change nothing that is computed are not compared, nor is
 * generation_config.json. */
#include <string.h>

#include "import/state.h"

/* Returns a value as text; of a list the first eight items. */
static const char *shown(Arena *a, const Datum *v)
{
    const char *text = "";
    if (v->kind != ValueList)
        return value_text(a, v);
    for (int i = 0; i < v->many.n && i < 8; i++)
        text = arena_printf(a, "%s%s%s", text, i ? ", " : "",
                            value_text(a, &v->many.at[i]));
    return arena_printf(a, "[%s%s]", text, v->many.n > 8 ? ", .." : "");
}

/* Reports a key with another value. */
static bool differs(Import *m, const Import *other, const char *path,
                    const Datum *x, const Datum *y)
{
    const ConfigKey *k = config_find(other->config, path);
    error_at(k ? k->pos : (Pos){ &other->config->src, 1, 1 },
             "%s is %s, but %s in %s: a mean is of checkpoints of one model",
             quote(path), quote(shown(m->a, y)), quote(shown(m->a, x)),
             quote(m->o->folder));
    m->code = ExitInput;
    return false;
}

/* Compares a word that a key of both configs decides. */
static bool same_word(Import *m, const Import *other, const char *path,
                      const char *x, const char *y)
{
    const ConfigKey *here = config_find(m->config, path);
    const ConfigKey *there = config_find(other->config, path);
    const Datum none = { .kind = ValueNone };
    return !strcmp(x, y)
        || differs(m, other, path, here ? &here->value : &none,
                   there ? &there->value : &none);
}

static bool is_compared(const Import *m, const Binding *b)
{
    for (int i = 0; i < m->files.n; i++)
        if (b->file == m->files.at[i].file
            && !strcmp(m->files.at[i].name, "generation"))
            return false;
    return !b->expr;
}

static bool same_keys(Import *m, const Import *other)
{
    if (!same_word(m, other, "model_type", m->family, other->family)
        || !same_word(m, other, "architectures", m->task, other->task))
        return false;
    for (int i = 0; i < m->binding.n; i++) {
        const Binding *b = &m->binding.at[i];
        const int at = index_find(&other->names, b->name);
        const Datum *x = &b->value;
        const Datum *y = at < 0 ? NULL : &other->binding.at[at].value;
        if (is_compared(m, b) && y && !value_same(x, y))
            return differs(m, other, b->name, x, y);
    }
    return true;
}

bool can_merge(const Import *m)
{
    if (m->gguf.kind == ValueMap)
        error_at((Pos){ 0 },
                 "%s: weights are merged in the folder of a checkpoint, not "
                 "in a file of llama.cpp",
                 quote(m->path));
    return m->gguf.kind != ValueMap;
}

bool same_model(Import *m, const Import *other)
{
    return can_merge(other) && same_keys(m, other);
}
