/* metadata.c: looks up metadata of a .gguf file by key. */
#include <string.h>

#include "import/state.h"

const char *gguf_architecture(const Import *m)
{
    const Datum *v = value_get(&m->gguf, "general.architecture");
    return v && v->kind == ValueText ? v->text : NULL;
}

const Datum *gguf_value(Import *m, const char *key)
{
    const bool whole = !strncmp(key, "general.", 8)
                    || !strncmp(key, "tokenizer.", 10);
    if (m->gguf.kind != ValueMap)
        return NULL;
    return value_get(&m->gguf, whole ? key
                                     : arena_printf(m->a, "%s.%s",
                                                    gguf_architecture(m), key));
}
