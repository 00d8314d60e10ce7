/* spec_texts.c: emits what the spec adds to texts: tasks, prompts, the texts
 * around a pair, and those of a conversation. */
#include "emit/gen/c_names.h"
#include "emit/gen/sections.h"

#include <string.h>

static const char *text_or_null(Gen *g, const char *text)
{
    return text ? c_string(g->a, text, strlen(text)) : "NULL";
}

static void put_text_task(Emit *e, const struct attn_task *t)
{
    let(e, "length", "%lld", (long long)t->length);
    let(e, "prefix", "%lld", (long long)t->prefix);
    let(e, "fill", "%lld", (long long)t->fill);
    let(e, "attend", "%d", t->attend);
    let(e, "cut", "%d", t->cut);
    let(e, "skips", "%lld", (long long)t->skips);
    let(e, "skip", "%s", t->skips > 0 ? "skipped_of_spec" : "NULL");
    put(e, "{ $length, $prefix, $fill, $attend, $cut, $skip, $skips },\n");
}

/* Emits what becomes of queries and documents. */
static void put_text_tasks(Emit *e, const struct attn_texts *t)
{
    const struct attn_task *document = &t->tasks[ATTN_TASK_DOCUMENT];
    if (document->skips > 0) {
        put(e, "static const int32_t skipped_of_spec[] = {\n");
        for (int64_t i = 0; i < document->skips; i++) {
            let(e, "id", "%d", (int)document->skip[i]);
            put(e, "$id,\n");
        }
        put(e, "};\n");
    }
    put(e, "static const struct attn_task tasks_of_spec[] = {\n"
           "    { 0, -1, -1, 0, 0, NULL, 0 },\n");
    put_text_task(e, &t->tasks[ATTN_TASK_QUERY]);
    put_text_task(e, document);
    put(e, "};\n");
}

/* Emits the texts around a pair. */
static void put_pair(Gen *g, Emit *e, const struct attn_pair_texts *p)
{
    const char *const texts[] = { p->begin, p->prompt, p->first, p->second,
                                  p->end };
    put(e, ".pair = {\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        let(e, "text", "%s", text_or_null(g, texts[i]));
        put(e, "$text,\n");
    }
    put(e, "},\n");
}

/* Emits the chat template of the spec. */
static void put_chat(Gen *g, Emit *e)
{
    const Spec *s = g->p->g->spec;
    const struct attn_chat chat = spec_chat(s);
    const struct {
        const char *member, *text;
    } texts[] = {
        { "begin", chat.begin },
        { "system_text", chat.system_text },
        { "system.prefix", chat.system.prefix },
        { "system.suffix", chat.system.suffix },
        { "user.prefix", chat.user.prefix },
        { "user.suffix", chat.user.suffix },
        { "assistant.prefix", chat.assistant.prefix },
        { "assistant.suffix", chat.assistant.suffix },
    };
    put(e, "static const struct attn_chat chat_of_spec = {\n");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = texts[i].text;
        let(e, "member", "%s", texts[i].member);
        let(e, "text", "%s", text_or_null(g, text));
        put(e, ".$member = $text,\n");
    }
    let(e, "inside", "%d", chat.system_inside);
    let(e, "skipped", "%d", chat.system_skipped);
    let(e, "trim", "%d", chat.trim);
    put(e, ".system_inside = $inside,\n"
           ".system_skipped = $skipped,\n"
           ".trim = $trim\n"
           "};\n\n");
}

/* Emits what the spec adds to texts that the model answers. */
void put_chat_texts(Gen *g, Emit *e)
{
    put_chat(g, e);
    put(e, "static const struct attn_texts texts_of_spec = {\n"
           "    .chat = &chat_of_spec,\n"
           "};\n\n");
}

/* Emits what the spec adds to texts that become rows, without the members that
 * are 0. */
void put_texts(Gen *g, Emit *e)
{
    struct attn_task tasks[3];
    const struct attn_texts t = spec_texts(g->p->g->spec, tasks);
    if (has_tasks(g))
        put_text_tasks(e, &t);
    if (t.prompts) {
        put(e, "static const char *const prompts_of_spec[] = {\n");
        for (int64_t i = 0; t.prompts[i]; i++) {
            let(e, "text", "%s", text_or_null(g, t.prompts[i]));
            put(e, "$text,\n");
        }
        put(e, "NULL\n"
               "};\n");
    }
    let(e, "tasks", "%s", has_tasks(g) ? "tasks_of_spec" : "NULL");
    let(e, "hidden", "%d", t.fill_is_hidden);
    let(e, "prompts", "%s", t.prompts ? "prompts_of_spec" : "NULL");
    let(e, "prompt", "%s", text_or_null(g, t.prompt));
    put(e, "static const struct attn_texts texts_of_spec = {\n"
           "    .tasks = $tasks,\n"
           "    .fill_is_hidden = $hidden,\n"
           "    .prompts = $prompts,\n"
           "    .prompt = $prompt,\n");
    if (t.pair.second)
        put_pair(g, e, &t.pair);
    put(e, "};\n\n");
}
