/* cmd_sweep.c: attnc sweep. Compares the costs of variants of a spec. */
#include "cli/options/options.h"

/* Reads the spec from stdin if one of the specs is "-". */
static void read_stdin(Arena *a, SweepOptions *to)
{
    for (int i = 0; i < to->nspecs; i++) {
        if (!is_stdout(to->specs[i]))
            continue;
        if (to->text_of)
            fail(ExitUsage, "stdin is one spec: - is there twice");
        to->text_of = to->specs[i];
        to->model.text = stdin_document(a).text;
    }
}

int sweep_command(Arena *a, int command, const Options *o,
                  void change(Arena *a, SweepOptions *to), FILE *out)
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
    if (o->model.text.text)
        sweep.text_of = o->specs.at[0];
    else
        read_stdin(a, &sweep);
    sweep.budget = o->budget ? budget_seconds(o->budget) : 0;
    if (is_stdout(sweep.resume))
        fail(ExitUsage, "--resume -: rows are read and written there, stdout "
                        "is not: name a file");
    sweep.work.no_kernels = sweep.work.no_limit = true;
    if (change)
        change(a, &sweep);
    return sweep_run(&sweep, beside(sweep.svg, out));
}

int sweep_report(const Options *o, FILE *out)
{
    Arena *a = arena_new();
    const int code = sweep_command(a, CmdSweep, o, NULL, out);
    arena_free(a);
    return code;
}
