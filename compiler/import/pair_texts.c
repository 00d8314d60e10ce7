/* pair_texts.c: finds the texts that a chat template writes around a query and
 * a document, as sentence-transformers gives it a pair: a message of each role,
 * and one of the system for an instruction. The texts are what the template
 * writes around known messages. */
#include <string.h>

#include "import/jinja.h"
#include "import/state.h"

enum { PartBegin, PartPrompt, PartFirst, PartSecond, PartEnd, Parts };
static const char *const part_names[Parts] = { "begin", "prompt", "first",
                                               "second", "end" };
static const char system_text[] = "Instruction-1", query[] = "Query-1",
                  document[] = "Document-1";

static Datum text_datum(const char *text)
{
    return (Datum){ .kind = ValueText, .text = text };
}

static Datum map_of(Arena *a, int n, const char *const *keys, const Datum *v)
{
    Datum *at = arena_alloc(a, (size_t)n * sizeof *at);
    const char **key = arena_alloc(a, (size_t)n * sizeof *key);
    memcpy(at, v, (size_t)n * sizeof *at);
    memcpy(key, keys, (size_t)n * sizeof *key);
    return (Datum){ .kind = ValueMap, .many = { at, key, n } };
}

static Datum message_of(Arena *a, const char *role, const char *content)
{
    static const char *const keys[] = { "role", "content" };
    const Datum v[] = { text_datum(role), text_datum(content) };
    return map_of(a, 2, keys, v);
}

/* Returns what the template writes for a pair, with or without an instruction;
 * NULL after a fault. */
static const char *render_pair(Import *m, const JinjaNode *top, const Config *c,
                               bool instructs, bool generates)
{
    static const char *const names[] = { "messages",  "add_generation_prompt",
                                         "bos_token", "eos_token",
                                         "unk_token", "pad_token" };
    enum { Names = sizeof names / sizeof *names };
    Datum list[] = { message_of(m->a, "system", system_text),
                     message_of(m->a, "query", query),
                     message_of(m->a, "document", document) };
    Datum v[Names] = { { .kind = ValueList }, value_truth(generates) };
    const char *key[Names] = { names[0], names[1] };
    JinjaFault why;
    bool dated = false;
    int n = 2;
    v[0].many.at = list + !instructs;
    v[0].many.n = 2 + instructs;
    for (int i = 2; i < Names; i++) {
        const char *text = template_token(c, names[i]);
        if (!text)
            continue;
        key[n] = names[i];
        v[n++] = text_datum(text);
    }
    const Datum variables = map_of(m->a, n, key, v);
    return jinja_render(m->a, top, &variables, &dated, &why);
}

/* Returns the text before `mark` and moves *at behind it; NULL: it is not
 * there. */
static const char *text_before(Import *m, const char **at, const char *mark)
{
    const char *end = *at ? strstr(*at, mark) : NULL;
    const char *text = end ? arena_strndup(m->a, *at, (size_t)(end - *at))
                           : NULL;
    *at = end ? end + strlen(mark) : NULL;
    return text;
}

/* Sets begin, prompt and first by what the template writes with and without an
 * instruction. */
static void find_pair_prompt(Import *m, const char *with, const char *plain)
{
    const char *at = with, *begin = text_before(m, &at, system_text);
    const char *first = text_before(m, &at, query);
    const size_t n = strlen(plain), b = begin ? strlen(begin) : 0,
                 f = first ? strlen(first) : 0;
    m->pair[PartBegin] = plain;
    if (!begin || !first || b + f > n || strncmp(plain, begin, b)
        || strcmp(plain + n - f, first))
        return;
    m->pair[PartBegin] = begin;
    m->pair[PartPrompt] = arena_strndup(m->a, plain + b, n - b - f);
    m->pair[PartFirst] = first;
}

static void find_pair(Import *m, bool generates)
{
    Config c = { .top = { .kind = ValueNone } };
    Pos pos = { 0 };
    JinjaFault why;
    if (!config_read(m->a,
                     arena_printf(m->a, "%s/tokenizer_config.json",
                                  m->o->folder),
                     true, &c, &m->code))
        return;
    const char *text = template_text(m, &c, &pos);
    const JinjaNode *top = text ? jinja_parse(m->a, text, &why) : NULL;
    const char *at = top ? render_pair(m, top, &c, false, generates) : NULL;
    const char *plain = text_before(m, &at, query);
    const char *second = text_before(m, &at, document);
    if (!second)
        return;
    m->pair[PartSecond] = second;
    m->pair[PartEnd] = at;
    find_pair_prompt(m, render_pair(m, top, &c, true, generates), plain);
}

const char *pair_texts_get(Scope *s, const char *name, bool generates)
{
    Import *m = s->of;
    if (!m->pair_read)
        find_pair(m, generates);
    m->pair_read = true;
    for (int i = 0; i < Parts; i++)
        if (!strcmp(name, part_names[i]) && m->pair[i] && *m->pair[i])
            return m->pair[i];
    return NULL;
}
