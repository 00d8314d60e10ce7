/* cmd_bench.c: attnc bench. Measures a model and compares it with the limits of
 * the machine. */
#include "cli/options/options.h"

int bench_report(const Options *o, FILE *out)
{
    Engine e = { 0 };
    const EngineOptions with = engine_options(CmdBench, &o->model, &o->code);
    BenchOptions bench = o->bench;
    if (picture_asked(bench.format, BenchSvg, &bench.svg))
        bench.format = BenchTable;
    if (o->machine && (o->model.spec || bench.svg))
        fail(ExitUsage, "--machine takes no spec and no --svg");
    if (o->machine)
        return bench_machine(&bench, out);
    const int code = engine_open(&e, &with);
    const int done = code ? code
                          : bench_run(&e, &bench, beside(bench.svg, out));
    engine_close(&e);
    return done;
}
