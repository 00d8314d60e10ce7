/* runtime_files.c: emits the files of runtime/ that the output contains. Types
 * that users see are copied completely. The rest (search, text, checks of
 * weights files, an open model) goes through the tree shaker
 * (tree_shaker.c). */
#include "emit/text/tree_shaker.h"
#include "emit/gen/c_names.h"
#include "emit/gen/rank_share.h"
#include "emit/gen/sections.h"

#include <string.h>

typedef enum { Any, Generates, Writes, Divided } Need;

/* public types, sorted by dependency */
static const struct {
    CorePart part;
    Need need;
    const char *name;
} core[] = {
    { CoreBatch, Any, "batch.h" },
    { CoreBatch, Divided, "comm.h" },
    { CoreTypes, Any, "compiled_model.h" },
    { CoreTypes, Generates, "generate.h" },
    { CoreTypes, Writes, "growing_text.h" },
    { CoreOpened, Any, "handle.h" },
    { CorePool, Any, "pool.h" },
    { CoreThreads, Any, "cores.c" },
    { CoreThreads, Any, "pool.c" },
};

/* files that go through the tree shaker */
static const struct {
    CorePart part;
    const char *name;
} needed[] = {
    { CoreHeaders, "memory.h" },
    { CoreHeaders, "processor.h" },
    { CoreHeaders, "check.h" },
    { CoreHeaders, "search.h" },
    { CoreHeaders, "queue.h" },
    { CoreHeaders, "stream.h" },
    { CoreHeaders, "score.h" },
    { CoreHeaders, "text.h" },
    { CoreHeaders, "encoding.h" },
    { CoreHeaders, "decode.h" },
    { CoreHeaders, "gbnf.h" },
    { CoreHeaders, "grammar.h" },
    { CoreHeaders, "packed.h" },
    { CoreHeaders, "chat.h" },
    { CoreHeaders, "text_task.h" },
    { CoreSources, "memory.c" },
    { CoreSources, "hash.c" },
    { CoreSources, "math.c" },
    { CoreSources, "cache.c" },
    { CoreSources, "process.c" },
    { CoreSources, "sampling.c" },
    { CoreSources, "beam.c" },
    { CoreSources, "queue.c" },
    { CoreSources, "queue_round.c" },
    { CoreSources, "prefixes.c" },
    { CoreSources, "search.c" },
    { CoreSources, "vocab.c" },
    { CoreSources, "aligned.c" },
    { CoreSources, "encoding.c" },
    { CoreSources, "trie.c" },
    { CoreSources, "mapping.c" },
    { CoreSources, "normal.c" },
    { CoreSources, "replace.c" },
    { CoreSources, "charmap.c" },
    { CoreSources, "sentencepiece.c" },
    { CoreSources, "wordpiece.c" },
    { CoreSources, "unigram.c" },
    { CoreSources, "merges.c" },
    { CoreSources, "ranks.c" },
    { CoreSources, "added.c" },
    { CoreSources, "split.c" },
    { CoreSources, "steps.c" },
    { CoreSources, "tokens.c" },
    { CoreSources, "pending.c" },
    { CoreSources, "decode.c" },
    { CoreSources, "text.c" },
    { CoreSources, "grammar.c" },
    { CoreSources, "automaton.c" },
    { CoreCold, "check.c" },
    { CoreCold, "gbnf.c" },
    { CoreCold, "gbnf_set.c" },
    { CoreCold, "gbnf_check.c" },
    { CoreCold, "grammar_tokens.c" },
    { CoreCold, "batch.c" },
    { CoreCold, "search_memory.c" },
    { CoreCold, "draft.c" },
    { CoreCold, "stream.c" },
    { CoreCold, "state.c" },
    { CoreCold, "score.c" },
    { CoreCold, "chat.c" },
    { CoreCold, "text_task.c" },
    { CoreCold, "vocab_check.c" },
    { CoreCold, "packed.c" },
    { CoreCold, "processor.c" },
    { CoreOpenFile, "handle_file.c" },
    { CoreOpenFile, "handle.c" },
};

/* True for an #include that is already at the top of the file. Only integer
 * kernels include other headers. */
static bool is_at_top(const char *line)
{
    static const char include[] = "#include", x86[] = "#include <immintrin.h>",
                      arm[] = "#include <arm_neon.h>";
    return !strncmp(line, include, sizeof include - 1)
        && strncmp(line, x86, sizeof x86 - 1) != 0
        && strncmp(line, arm, sizeof arm - 1) != 0;
}

/* Appends text without its #include lines, and collapses consecutive empty
 * lines. */
void paste(Emit *e, const char *text, const char *end)
{
    size_t have;
    const char *before = emit_text(e, &have);
    bool empty = have > 1 && !memcmp(before + have - 2, "\n\n", 2);
    while (text < end) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        const size_t n = (size_t)(line ? line + 1 - text : end - text);
        const bool blank = *text == '\n';
        if (!is_at_top(text) && !(blank && empty)) {
            emit_raw(e, text, n);
            empty = blank;
        }
        text += n;
    }
}

/* Returns the text without its comments. */
static const char *without_comments(Arena *a, const char *at, size_t *n)
{
    const char *end = at + *n;
    char *text = arena_alloc(a, *n + 1), *to = text, *line = text;
    bool removed = false; /* a comment from this line */
    while (at < end) {
        if (at + 1 < end && at[0] == '/' && at[1] == '*') {
            for (at += 2; at + 1 < end && (at[0] != '*' || at[1] != '/');)
                at++;
            at += 2;
            while (to > line && to[-1] == ' ')
                to--;
            removed = true;
            continue;
        }
        *to++ = *at;
        if (*at++ != '\n')
            continue;
        if (removed && to - line == 1)
            to = line;
        line = to;
        removed = false;
    }
    *n = (size_t)(to - text);
    return text;
}

void paste_file(Gen *g, Emit *e, const char *name)
{
    size_t n;
    const char *text = runtime_text(g, name, &n);
    paste(e, text, text + n);
    put(e, "\n");
}

static bool has_need(const Gen *g, Need need)
{
    if (g->every || need == Any)
        return true;
    if (need == Divided)
        return has_ranks(g);
    return need == Writes ? has_decoder(g->p) && has_vocabulary(g)
                          : generates(g);
}

void emit_types(Gen *g, Emit *e, CorePart part)
{
    for (size_t i = 0; i < sizeof core / sizeof *core; i++) {
        size_t n;
        if (core[i].part != part || !has_need(g, core[i].need))
            continue;
        const char *text = runtime_text(g, core[i].name, &n);
        text = without_comments(g->a, text, &n);
        paste(e, text, text + n);
        put(e, "\n");
    }
}

void emit_core(Gen *g, Emit *e, CorePart part)
{
    for (size_t i = 0; i < sizeof core / sizeof *core; i++)
        if (core[i].part == part && has_need(g, core[i].need))
            paste_file(g, e, core[i].name);
}

/* ---- needed ---- */

void emit_all_of(Gen *g, Emit *e, CorePart part)
{
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (needed[i].part == part)
            paste_file(g, e, needed[i].name);
}

static void core_add(Gen *g, CorePart part, const char *name)
{
    size_t n;
    const char *text = runtime_text(g, name, &n);
    shaker_add(g->core, part, text, n);
}

void core_read(Gen *g)
{
    Emit *prototypes = emit_new(g->a);
    size_t n;
    g->core = shaker_new(g->a);
    emit_all_prototypes(g, prototypes);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (i > 0 && needed[i].part != needed[i - 1].part
            && needed[i].part == CoreSources) {
            const char *text = emit_text(prototypes, &n);
            shaker_add(g->core, CoreHeaders, text, n);
        }
        core_add(g, needed[i].part, needed[i].name);
    }
    core_add(g, CoreOpenFile,
             has_decoder(g->p) ? "handle_generate.c" : "handle_rows.c");
    if (has_decoder(g->p)) {
        core_add(g, CoreOpenFile, "handle_score.c");
        core_add(g, CoreOpenFile, "handle_queue.c");
    }
    if (has_chat(g))
        core_add(g, CoreOpenFile, "handle_chat.c");
}

void core_need(Gen *g, const Emit *part)
{
    size_t n;
    const char *text = emit_text(part, &n);
    shaker_need(g->core, text, n);
}

static void paste_needed(void *e, const char *text, const char *end)
{
    paste(e, text, end);
}

void emit_needed(Gen *g, Emit *e, CorePart part)
{
    shaker_put(g->core, part, paste_needed, e);
}
