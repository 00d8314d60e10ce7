/* chat_file.c: finds the chat template of a folder, in tokenizer_config.json or
 * in a file of its own. */
#include <string.h>

#include "import/state.h"

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

const char *template_token(const Config *c, const char *key)
{
    const Datum *v = c->top.kind == ValueMap ? value_get(&c->top, key) : NULL;
    if (v && v->kind == ValueMap)
        v = value_get(v, "content");
    return v && v->kind == ValueText ? v->text : NULL;
}

const char *template_text(Import *m, const Config *c, Pos *pos)
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
