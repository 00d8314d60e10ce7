/* cmd_bench.c: attnc bench: a model's speed beside the machine's limits. */
#include "bench/bench.h"
#include "cli/cli.h"

static const char *const formats[] = {
    [BenchTable] = "table",
    [BenchJson] = "json",
    [BenchCsv] = "csv",
    [BenchMarkdown] = "md",
};
enum { Formats = sizeof formats / sizeof *formats };

int cmd_bench(const Options *o)
{
    Engine e = { 0 };
    const EngineOptions with = engine_options(o);
    const BenchOptions bench = {
        .lengths = o->lengths,
        .steps = o->steps,
        .batch = o->batch > 0 ? o->batch : 0,
        .beam = o->beam > 0 ? o->beam : 1,
        .repetitions = o->repetitions > 0 ? o->repetitions : 0,
        .seconds = o->seconds > 0 ? o->seconds : 1.0,
        .no_kernels = o->no_kernels,
        .format = (BenchFormat)option_choice("--format", o->format, formats,
                                             Formats),
        .svg = o->svg,
    };
    if (o->machine && (o->spec || o->svg))
        fail(ExitUsage, "--machine takes no spec and no --svg");
    if (o->machine)
        return bench_machine(&bench, stdout);
    const int code = engine_open(&e, &with);
    const int done = code == ExitDone ? bench_run(&e, &bench, beside(o->svg))
                                      : code;
    engine_close(&e);
    return done;
}
