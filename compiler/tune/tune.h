/* tune.h: finds the tilings that are fastest on this machine.
 *
 *   plan -> its tasks (plan/tasks.c) -> candidates, ranked by a model of
 *   registers, caches and bandwidth (cost_model.c) -> texts (emit/file/task.c)
 *   -> objects, compiled side by side (tune_build.c) -> times and results, in
 *   child processes (tune_child.c) -> by successive halving, one incumbent
 *   (tune_search.c), task by task (tune_schedule.c) -> records
 * (records/records.c) -> the whole model (end_to_end.c) -> report
 * (tune_print.c, tune_json.c, draw_tune.c)
 *
 * In:  an Engine, a budget of seconds.
 * Out: records of what is faster beyond chance; a report.                   */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "bench/bench.h"
#include "records/records.h"

typedef enum { TuneLines, TuneJson, TuneSvg } TuneFormat;

enum { TuneBudget = 20 }; /* seconds, where no others are given */
typedef struct {
    double budget; /* seconds */
    TuneFormat format;
    const char *svg;     /* NULL: none */
    const char *records; /* path; NULL: the user's own */
    bool again;          /* also what is recorded already */
    bool exhaustive;     /* every candidate of the space is timed */
    BenchOptions work;   /* lengths, steps, batch, beam */
    EngineOptions model;
} TuneOptions;

/* Returns an exit code; `out` gets the report, stderr the progress. */
int tune_run(const TuneOptions *o, FILE *out);

/* `attnc records explain`, and the end of the report: what the machine is, and
 * a sentence for each record: what was chosen and why. target: this machine's
 * name among those of its instruction set.                                   */
void records_explain(const Records *r, const Host *here, const char *target,
                     const Machine *m, FILE *out);

#endif
