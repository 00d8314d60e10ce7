/* cmd_graph.c: attnc graph. Prints the graph of a model as text, JSON, dot or
 * SVG. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "draw/graph_picture.h"
#include "cli/options/options.h"

static int list_passes(const void *options)
{
    (void)options;
    for (int i = 0; i < n_passes; i++)
        printf("%-16s %s%s\n", passes[i].name, passes[i].summary,
               passes[i].required ? " (always runs)" : "");
    return ExitDone;
}

static int print_to(const char *text, const char *path)
{
    Fault why;
    return write_file(path, text, strlen(text), &why) ? ExitDone
                                                      : report_fault(&why);
}

/* Prints the graph as built and after each pass, for --stage=all. */
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

/* Returns a description of the printed stage, e.g. "after the pass
 * fuse-norm". */
static const char *stage_text(Arena *a, const Options *o)
{
    if (o->stage == StageBuilt)
        return "as built, before all passes";
    return o->model.after ? arena_printf(a, "after the pass %s", o->model.after)
                          : "as it runs, after all passes";
}

const char *graph_text(const Engine *e, const Options *o)
{
    const Graph *g = o->stage == StageBuilt ? e->unfused : e->graph;
    if (o->format == PrintSvg)
        return draw_graph(e->arena, g, stage_text(e->arena, o));
    return print_graph(e->arena, g,
                       o->format == PrintText   ? GraphText
                       : o->format == PrintJson ? GraphJson
                                                : GraphDot);
}

int cmd_graph(const Options *o)
{
    const char *path = o->output ? o->output : "-";
    const EngineOptions options = engine_options(CmdGraph, &o->model, NULL);
    const bool all = o->stage == StageAll;
    if (o->list_passes)
        return report_print(o->output, list_passes, NULL);
    if (all && o->format != PrintText)
        fail(ExitUsage, "--stage=all is text: draw one with --stage or "
                        "--after");
    Engine e = { .arena = NULL };
    FILE *log = o->format == PrintText ? stdout : stderr;
    int code = all ? print_stages(&e, options, path)
                   : engine_graph(&e, &options, log);
    if (!code && !all)
        code = print_to(graph_text(&e, o), path);
    engine_close(&e);
    return code;
}
