/* cmd_tune.c: attnc tune. Finds the fastest tilings on this machine. */
#include "cli/options/options.h"

int tune_report(const Options *o, FILE *out)
{
    Arena *a = arena_new();
    ModelOptions model = o->model;
    TuneOptions tune = o->tune;
    tune.work = o->bench;
    Fault why;
    if (o->dtype)
        vec_push(a, &model.sets, arena_printf(a, "dtype=%s", o->dtype));
    if (picture_asked(tune.format, TuneSvg, &tune.svg))
        tune.format = TuneLines;
    tune.budget = TuneBudget;
    if (o->budget)
        tune.budget = budget_seconds(o->budget);
    tune.records = records_option(&o->code);
    if (tune.records && !guard_write(tune.records, UseRecords, &why))
        fail(why.code, "%s", why.text);
    tune.model = engine_options(CmdTune, &model, &o->code);
    const int code = tune_run(&tune, beside(tune.svg, out));
    arena_free(a);
    return code;
}
