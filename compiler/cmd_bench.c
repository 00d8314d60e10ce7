/* cmd_bench.c: attnc bench: a model's speed beside the machine's limits. */
#include <string.h>

#include "bench.h"
#include "options.h"

static const char *const formats[] = {
    [BenchTable] = "table", [BenchJson] = "json", [BenchCsv] = "csv",
    [BenchMarkdown] = "md"
};
enum { Formats = sizeof formats / sizeof *formats };

static BenchFormat format_of(const char *name)
{
    for (int i = 0; i < Formats; i++)
        if (!name || strcmp(name, formats[i]) == 0)
            return (BenchFormat)i;
    fail(ExitUsage, "--format '%s': one of table, json, csv, md",
         quote(name));
}

int cmd_bench(const Options *o)
{
    Engine e = { 0 };
    const EngineOptions with = engine_options(o);
    const BenchOptions bench = {
        .rows = o->rows > 0 ? o->rows : 0,
        .steps = o->steps,
        .batch = o->batch > 0 ? o->batch : 1,
        .repetitions = o->repetitions > 0 ? o->repetitions : 0,
        .seconds = o->seconds > 0 ? o->seconds : 1.0,
        .format = format_of(o->format),
    };
    const int code = engine_open(&e, &with);
    if (code == ExitDone)
        bench_run(&e, &bench, stdout);
    engine_close(&e);
    return code;
}
