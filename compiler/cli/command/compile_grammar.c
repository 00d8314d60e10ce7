/* compile_grammar.c: compile --grammar. Reads and checks the grammar that the
 * program will have inside. */
#include "cli/command/compile.h"
#include "emit/emit.h"
#include "runtime/core.h"
#include "schema/schema.h"

#include <stdlib.h>
#include <string.h>

/* Checks that the file has a program whose answers have text. */
static int grammar_applies(const Engine *e, const EmitOptions *emit,
                           const Options *o)
{
    const char *wrong = NULL;
    if (o->plain || !file_has_part(e->plan, emit, FileMain))
        wrong = "a grammar is for the program, which this file does not "
                "contain: leave out --plain, --freestanding or --parts";
    else if (e->plan->g->spec->kind != KindDecoder
             && e->plan->g->spec->kind != KindEncoderDecoder)
        wrong = "this model does not generate";
    else if (!e->target_vocab.block)
        wrong = "this model has no vocabulary: a grammar is about the text of "
                "tokens";
    if (wrong)
        error_at(e->spec->top, "%s: %s",
                 o->search.schema ? "--json-schema" : "--grammar", wrong);
    return wrong ? ExitUsage : ExitDone;
}

/* Compiles the grammar, to check it. */
static bool grammar_checks(const char *path, const File *f, Fault *why)
{
    struct attn_gbnf g;
    struct attn_memory at;
    const char *text = (const char *)f->at;
    int64_t line, column;
    void *memory = NULL;
    attn_memory_open(&at, NULL);
    int wrong = attn_gbnf_read(&g, text, (int64_t)f->size, &at);
    if (!wrong) {
        memory = malloc((size_t)attn_memory_bytes(&at));
        if (!memory)
            return fault(why, ExitResource, "%s: out of memory", path);
        attn_memory_open(&at, memory);
        wrong = attn_gbnf_read(&g, text, (int64_t)f->size, &at);
    }
    free(memory);
    if (!wrong && memchr(text, 0, f->size))
        return fault(why, ExitInput, "%s: a byte is 0: write \\x00", path);
    if (!wrong)
        return true;
    attn_gbnf_place(text, g.at, &line, &column);
    return fault(why, ExitInput, "%s:%lld:%lld: %s", path, (long long)line,
                 (long long)column, g.why);
}

static void grammar_lines(Arena *a, const File *f, EmitOptions *emit)
{
    const char *at = (const char *)f->at, *const end = at + f->size;
    const char **line = arena_alloc(a, (f->size + 1) * sizeof *line);
    emit->grammar = line;
    emit->grammar_bytes = f->size;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const size_t n = (size_t)((feed ? feed + 1 : end) - at);
        *line++ = arena_strndup(a, at, n);
        at += n;
    }
    *line = NULL;
}

/* Puts the schema's grammar into a file in memory. */
static bool schema_file(Arena *a, File *f, Fault *why)
{
    Buffer b = { .arena = a };
    const bool ok = schema_grammar(&b, f, why);
    file_close(f);
    *f = (File){ .path = f->path,
                 .at = (unsigned char *)b.at,
                 .size = (size_t)b.n };
    return ok;
}

int grammar_inside(const Engine *e, const Options *o, EmitOptions *emit)
{
    const char *path = o->search.schema ? o->search.schema : o->grammar;
    Fault why;
    File f;
    if (o->search.schema && o->grammar)
        fail(ExitUsage, "--grammar can't be combined with --json-schema");
    if (!path)
        return ExitDone;
    const int code = grammar_applies(e, emit, o);
    if (code)
        return code;
    if (!file_read(&f, path, (size_t)ATTN_MOST, &why))
        return report_fault(&why);
    if (o->search.schema) {
        if (!schema_file(e->arena, &f, &why))
            return report_fault(&why);
        grammar_lines(e->arena, &f, emit);
        return ExitDone;
    }
    const bool ok = grammar_checks(path, &f, &why);
    if (ok)
        grammar_lines(e->arena, &f, emit);
    file_close(&f);
    return ok ? ExitDone : report_fault(&why);
}
