/* token_ids.c: the ids of tokens, for expressions. The folder's tokenizer is
 * read when the first one is asked for. */
#include <string.h>

#include "emit/text/embedded.h"
#include "import/state.h"
#include "tokenizer/tokenizer.h"

int64_t vocabulary_token(Scope *s, const char *text)
{
    Import *m = s->of;
    Vocabulary *v = m->tokenizer;
    if (!v) {
        VocabularyFrom from = { .folder = m->o->folder, .size = -1 };
        bool found = false;
        Fault why;
        v = m->tokenizer = arena_alloc(m->a, sizeof *v);
        from.classes = embedded_text("import/tokenizers.json",
                                     &from.classes_bytes);
        if (!vocabulary_of_folder(&from, v, &found, &why))
            end_if_fatal(&why);
        if (!found) /* read_side() reports why */
            *v = (Vocabulary){ .mask = -1, .end = -1 };
    }
    if (!text)
        return v->mask >= 0 ? v->mask : v->end;
    return v->block ? attn_vocab_find(v->block, text, (int64_t)strlen(text))
                    : -1;
}
