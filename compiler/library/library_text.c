/* library_text.c: the functions of attnc.h that write C, or describe a model as
 * text. */
#include <stdlib.h>
#include <string.h>

#include "library/library.h"

typedef struct {
    const Call *call;
    int command;
    const char *where; /* name of the function, for messages */
    char **out;
} TextWork;

/* ---- compile ---- */
static bool compiles(const Option *row)
{
    return !OPTION_IN(row, common) || option_is(row, "--force");
}

static void compile_files(void *with)
{
    const TextWork *w = with;
    Arena *a = arena_new();
    Options *o = library_options(a, NthCompile, w->call->options);
    library_takes(o, NthCompile, compiles, w->where);
    o->model.spec = w->call->path;
    o->model.text.text = library_source(a, w->call);
    if (is_stream(o->output))
        fail(ExitUsage, "-o %s: name a file", quote(o->output));
    const int code = compile_model(o, false);
    arena_free(a);
    if (code)
        end_attempt(code);
}

/* The guard refuses outputs that would replace an input. */
static void compile_guarded(void *with)
{
    guard_begin();
    const int code = attempt(compile_files, with);
    guard_end();
    if (code)
        end_attempt(code);
}

int attnc_compile(const char *path, const char *text,
                  const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user };
    TextWork w = { .call = &c, .where = "attnc_compile()" };
    return library_call(&c, compile_guarded, &w);
}

/* ---- graph, plan ---- */
static bool describes(const Option *row)
{
    static const char *const more[] = { "--format", "--json", "--stage" };
    bool is = OPTION_IN(row, model) || OPTION_IN(row, code);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        is |= option_is(row, more[i]);
    return is;
}

static void describe(void *with)
{
    const TextWork *w = with;
    Arena *a = arena_new();
    Options *o = library_options(a, w->command, w->call->options);
    const bool graph = w->command == NthGraph;
    library_takes(o, w->command, describes, w->where);
    if (graph && o->stage == StageAll)
        fail(ExitUsage, "--stage=all is not an option of %s", w->where);
    o->model.spec = w->call->path;
    o->model.text.text = library_source(a, w->call);
    const EngineOptions options = engine_options(commands[w->command].bit,
                                                 &o->model,
                                                 graph ? NULL : &o->code);
    Engine e;
    const int code = graph ? engine_graph(&e, &options, stderr)
                           : engine_plan(&e, &options);
    if (code)
        end_attempt(code);
    const char *said = graph ? graph_text(&e, o) : plan_said(&e, o);
    const size_t bytes = strlen(said) + 1;
    *w->out = malloc(bytes);
    if (!*w->out)
        fail(ExitResource, "out of memory (%zu bytes wanted)", bytes);
    memcpy(*w->out, said, bytes);
    engine_close(&e);
    arena_free(a);
}

int attnc_graph(char **out, const char *path, const char *text,
                const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user };
    TextWork w = { &c, NthGraph, "attnc_graph()", out };
    *out = NULL;
    return library_call(&c, describe, &w);
}

int attnc_plan(char **out, const char *path, const char *text,
               const char *const *options, attnc_tell *tell, void *user)
{
    const Call c = { path, text, options, tell, user };
    TextWork w = { &c, NthPlan, "attnc_plan()", out };
    *out = NULL;
    return library_call(&c, describe, &w);
}

void attnc_free(void *memory)
{
    free(memory);
}
