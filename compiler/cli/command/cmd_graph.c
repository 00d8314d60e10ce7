/* cmd_graph.c: attnc graph. Prints the graph of a model as text, JSON, dot or
 * SVG. */
#include "base/console.h"
#include "draw/graph_picture.h"
#include "cli/options/options.h"

static int list_passes(FILE *out)
{
    for (int i = 0; i < n_passes; i++)
        fprintf(out, "%-16s %s%s\n", passes[i].name, passes[i].summary,
                passes[i].required ? " (always runs)" : "");
    return ExitDone;
}

/* Prints the graph as built and after each pass, for --stage=all. */
static int print_stages(Engine *e, EngineOptions options, FILE *out)
{
    const char *names[64];
    for (int i = 0; i < n_passes && i < 64; i++)
        names[i] = passes[i].name;
    EngineOptions first = options;
    first.passes = (PassOptions){ .nskip = 0 };
    int code = engine_graph(e, &first, console_log());
    if (code)
        return code;
    fprintf(out, "built:\n%s", print_graph(e->arena, e->unfused, GraphText));
    engine_close(e);
    options.passes.dump = names;
    options.passes.ndump = n_passes;
    return engine_graph(e, &options, out);
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

static const char *graph_text(const Engine *e, const Options *o)
{
    const Graph *g = o->stage == StageBuilt ? e->unfused : e->graph;
    if (o->format == PrintSvg)
        return draw_graph(e->arena, g, stage_text(e->arena, o));
    return print_graph(e->arena, g,
                       o->format == PrintText   ? GraphText
                       : o->format == PrintJson ? GraphJson
                                                : GraphDot);
}

int graph_report(const Options *o, FILE *out)
{
    const EngineOptions options = engine_options(CmdGraph, &o->model, NULL);
    const bool text = o->format == PrintText;
    /* what --explain and --dump print is not in a file that -o names */
    FILE *log = !text ? console_log() : o->output ? console_out() : out;
    Engine e = { .arena = NULL };
    int code;
    if (o->list_passes)
        return list_passes(out);
    if (o->stage == StageAll && !text)
        fail(ExitUsage, "--stage=all is text: draw one with --stage or "
                        "--after");
    if (o->stage == StageAll) {
        code = print_stages(&e, options, out);
    } else {
        code = engine_graph(&e, &options, log);
        if (!code)
            fputs(graph_text(&e, o), out);
    }
    engine_close(&e);
    return code;
}
