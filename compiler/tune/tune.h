/* tune.h: finds the fastest tilings on this machine.
 *
 *   plan -> its tasks (plan/tasks.c) -> candidates, ranked by a model of
 *   registers, caches and bandwidth (cost_model.c) -> texts (emit/file/task.c)
 *   -> objects, compiled in parallel (tune_build.c) -> times and results, in
 *   child processes (tune_child.c) -> by successive halving, one incumbent
 *   (tune_search.c), task by task (tune_schedule.c) -> records
 *   (records/records.c) -> the complete model (end_to_end.c) -> report
 *   (tune_report.c, draw_tune.c)
 *
 * In:  an Engine, a budget of seconds.
 * Out: records of tilings that are significantly faster; a report. */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "bench/bench.h"
#include "records/records.h"

typedef enum { TuneLines, TuneJson, TuneSvg } TuneFormat;

enum { TuneBudget = 20 }; /* default budget in seconds */
typedef struct {
    double budget; /* seconds for the complete tuning */
    TuneFormat format;
    const char *svg;     /* file for a picture of the search; NULL: none */
    const char *records; /* path of tuning records; NULL: the user's own */
    bool again;          /* also tunes tasks that have a record */
    bool exhaustive;     /* time every candidate instead of the best-ranked */
    BenchOptions work;   /* workloads: lengths, steps, batch, beam */
    EngineOptions model;
} TuneOptions;

/* Prints the report to `out` and progress to stderr. Returns an exit code. */
int tune_run(const TuneOptions *o, FILE *out);

/* Prints the machine and, for each record, a sentence on the chosen tiling and
 * why it is fast. `attnc records explain` prints this, and a report ends with
 * it. `target` names this machine's target, because several targets have the
 * same instruction set. */
void records_explain(const Records *r, const Host *here, const char *target,
                     const Machine *m, FILE *out);

#endif
