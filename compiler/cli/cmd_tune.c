/* cmd_tune.c: attnc tune: the tilings that are fastest on this machine. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

/* "60s", "2m", "90". */
static double read_budget(const char *text)
{
    const double most = 7 * 24 * 3600.0;
    char *end;
    if (!text)
        return 60;
    double seconds = strtod(text, &end);
    if (end != text && !strcmp(end, "m"))
        seconds *= 60;
    else if (end != text && !strcmp(end, "h"))
        seconds *= 3600;
    else if (end == text || (*end && strcmp(end, "s") != 0))
        seconds = 0;
    if (text[strspn(text, "0123456789.smh")] || !(seconds >= 1)
        || seconds > most)
        fail(ExitUsage,
             "--budget '%s': a time from 1s to 7 days, as 60s, 2m "
             "or 90",
             quote(text));
    return seconds;
}

int cmd_tune(const TuneCommand *o)
{
    Arena *a = arena_new();
    ModelOptions model = o->model;
    TuneOptions tune = o->tune;
    if (o->dtype)
        vec_push(a, &model.sets, arena_printf(a, "dtype=%s", o->dtype));
    tune.budget = read_budget(o->budget);
    tune.records = records_option(&o->code);
    tune.model = engine_options(CmdTune, &model, &o->code);
    const int code = tune_run(&tune, beside(tune.svg));
    arena_free(a);
    return code;
}
