/* cmd_bench.c: attnc bench. Measures a model and compares it with the limits of
 * the machine. */
#include "cli/options/options.h"

int cmd_bench(const Options *o)
{
    Engine e = { 0 };
    const EngineOptions with = engine_options(CmdBench, &o->model, &o->code);
    BenchOptions bench = o->bench;
    if (picture_asked(bench.format, BenchSvg, &bench.svg))
        bench.format = BenchTable;
    if (o->machine && (o->model.spec || bench.svg))
        fail(ExitUsage, "--machine takes no spec and no --svg");
    if (o->machine)
        return bench_machine(&bench, stdout);
    const int code = engine_open(&e, &with);
    const int done = code == ExitDone ? bench_run(&e, &bench, beside(bench.svg))
                                      : code;
    engine_close(&e);
    return done;
}
