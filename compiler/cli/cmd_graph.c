/* cmd_graph.c: attnc graph: the operations as text, or drawn by Graphviz. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"

static int list_passes(void)
{
    for (int i = 0; i < n_passes; i++)
        printf("%-16s %s%s\n", passes[i].name, passes[i].summary,
               passes[i].required ? " (always runs)" : "");
    return ExitDone;
}

/* Draws with `dot`, which writes to `fd` itself. */
static bool draw(Arena *a, const char *text, int fd, Fault *why)
{
    const char *dot = find_program(a, "dot");
    if (!dot)
        return fault(why, ExitBackend,
                     "--format=svg needs Graphviz's dot: "
                     "install graphviz, or use --format=dot");
    const char *argv[] = { dot, "-Tsvg", NULL };
    SpawnJob job = { .argv = argv, .input = text, .input_bytes = strlen(text) };
    spawn_all(&job, 1,
              &(SpawnLimits){ .at_once = 1, .seconds = 120, .out_fd = fd });
    if (job.ok)
        return true;
    fputs(job.said.tail, stderr);
    *why = job.why;
    return false;
}

static int draw_graph(Arena *a, const char *text, const char *path)
{
    Fault why;
    Output *file = arena_alloc(a, sizeof *file);
    if (!output_open(file, path, &why))
        return report_fault(&why);
    if (!draw(a, text, file->fd, &why)) {
        output_cancel(file);
        return report_fault(&why);
    }
    return output_commit(file, &why) ? ExitDone : report_fault(&why);
}

static int print_to(const char *text, const char *path)
{
    Fault why;
    return write_file(path, text, strlen(text), &why) ? ExitDone
                                                      : report_fault(&why);
}

/* --stage=all: the graph as built, and after each pass. */
static int write_stages(Engine *e, EngineOptions options, FILE *out)
{
    const char *names[64];
    for (int i = 0; i < n_passes && i < 64; i++)
        names[i] = passes[i].name;
    EngineOptions first = options;
    first.passes = (PassOptions){ .nskip = 0 };
    int code = engine_graph(e, &first, stderr);
    if (code)
        return code;
    fprintf(out, "built:\n%s", print_graph(e->arena, e->unfused, GraphText));
    engine_close(e);
    options.passes.dump = names;
    options.passes.ndump = n_passes;
    return engine_graph(e, &options, out);
}

static int print_stages(Engine *e, EngineOptions options, const char *path)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        fail(ExitResource, "out of memory");
    int code = write_stages(e, options, out);
    if (fclose(out) != 0)
        fail(ExitResource, "out of memory");
    code = code ? code : print_to(text, path);
    free(text);
    return code;
}

int cmd_graph(const GraphCommand *o)
{
    const char *path = o->output ? o->output : "-";
    const EngineOptions options = engine_options(CmdGraph, &o->model, NULL);
    const bool all = o->stage == StageAll;
    if (o->list_passes)
        return list_passes();
    if (all && o->format != PrintText)
        fail(ExitUsage, "--stage=all is text: draw one with --stage or "
                        "--after");
    Engine e = { .arena = NULL };
    int code = all ? print_stages(&e, options, path)
                   : engine_graph(&e, &options, stdout);
    if (!code && !all) {
        const char *text =
            print_graph(e.arena, o->stage == StageBuilt ? e.unfused : e.graph,
                        o->format == PrintText ? GraphText : GraphDot);
        code = o->format == PrintSvg ? draw_graph(e.arena, text, path)
                                     : print_to(text, path);
    }
    engine_close(&e);
    return code;
}
