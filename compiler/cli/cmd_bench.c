/* cmd_bench.c: attnc bench: a model's speed beside the machine's limits. */
#include "cli/options.h"

int cmd_bench(const BenchCommand *o)
{
    Engine e = { 0 };
    const EngineOptions with = engine_options(CmdBench, &o->model, &o->code);
    if (o->machine && (o->model.spec || o->bench.svg))
        fail(ExitUsage, "--machine takes no spec and no --svg");
    if (o->machine)
        return bench_machine(&o->bench, stdout);
    const int code = engine_open(&e, &with);
    const int done = code == ExitDone
                       ? bench_run(&e, &o->bench, beside(o->bench.svg))
                       : code;
    engine_close(&e);
    return done;
}
