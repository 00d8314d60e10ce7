/* cmd_sweep.c: attnc sweep. Compares the costs of variants of a spec. */
#include "cli/options/options.h"

/* Reads the spec from stdin if one of the specs is "-", otherwise returns
 * NULL. */
static const Source *read_stdin(Arena *a, const Texts *specs)
{
    const Source *text = NULL;
    for (int i = 0; i < specs->n; i++) {
        if (!is_stdout(specs->at[i]))
            continue;
        if (text)
            fail(ExitUsage, "stdin is one spec: - is there twice");
        text = stdin_document(a).text;
    }
    return text;
}

int sweep_command(Arena *a, int command, const Options *o,
                  void change(Arena *a, SweepOptions *to))
{
    SweepOptions sweep = o->sweep;
    sweep.work = o->bench;
    if (picture_asked(sweep.format, BenchSvg, &sweep.svg))
        sweep.format = BenchTable;
    sweep.specs = o->specs.at;
    sweep.nspecs = o->specs.n;
    sweep.vary = o->vary.at;
    sweep.nvary = o->vary.n;
    sweep.model = engine_options(command, &o->model, &o->code);
    sweep.model.text = read_stdin(a, &o->specs);
    sweep.budget = o->budget ? budget_seconds(o->budget) : 0;
    if (is_stdout(sweep.resume))
        fail(ExitUsage, "--resume -: rows are read and written there, stdout "
                        "is not: name a file");
    sweep.work.no_kernels = sweep.work.no_limit = true;
    if (change)
        change(a, &sweep);
    return sweep_run(&sweep, beside(sweep.svg));
}

int cmd_sweep(const Options *o)
{
    Arena *a = arena_new();
    const int code = sweep_command(a, CmdSweep, o, NULL);
    arena_free(a);
    return code;
}
