/* cmd_tune.c: attnc tune: the tilings that are fastest on this machine. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "tune/tune.h"

static const char *const formats[] = {
    [TuneLines] = "table", [TuneJson] = "json"
};

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

int cmd_tune(const Options *o)
{
    Options with = *o;
    if (o->dtype)
        vec_push(o->arena, &with.sets,
                 arena_printf(o->arena, "dtype=%s", o->dtype));
    TuneOptions tune = {
        .budget = read_budget(o->budget),
        .format = (TuneFormat)option_choice("--format", o->format, formats, 2),
        .svg = o->svg,
        .records = o->records,
        .again = o->again,
        .exhaustive = o->exhaustive,
        .work = { .lengths = o->lengths,
                  .steps = o->steps,
                  .batch = o->batch > 0 ? o->batch : 0,
                  .beam = o->beam > 0 ? o->beam : 1 },
        .model = engine_options(&with),
    };
    return tune_run(&tune, beside(o->svg));
}
