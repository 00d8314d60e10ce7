/* tune.h: finds the fastest tilings on this machine.
 *
 *   plan -> its tasks (plan/tasks.c) -> candidates, ranked by a model of
 *   registers, caches and bandwidth (cost_model.c) -> texts (emit/file/task.c)
 *   -> objects, compiled in parallel (tune_build.c) -> times and results, in
 *   child processes (tune_child.c) -> by successive halving, one incumbent
 *   (tune_search.c), task by task (tune_schedule.c) -> records
 *   (records/records.c) -> the complete model (end_to_end.c) -> report
 *   (tune_print.c, tune_json.c, draw_tune.c)
 *
 * In:  an Engine, a budget of seconds.
 * Out: records of tilings that are significantly faster; a report. */
#ifndef ATTNC_TUNE_H
#define ATTNC_TUNE_H

#include "bench/bench.h"
#include "records/records.h"

typedef enum { TuneLines, TuneJson, TuneSvg } TuneFormat;

enum { TuneBudget = 20 }; /* default, in seconds */
typedef struct {
    double budget; /* seconds */
    TuneFormat format;
    const char *svg;     /* NULL: none */
    const char *records; /* path; NULL: the user's own */
    bool again;          /* tune recorded tasks, too */
    bool exhaustive;     /* time every candidate */
    BenchOptions work;   /* lengths, steps, batch, beam */
    EngineOptions model;
} TuneOptions;

/* Prints the report on `out` and progress on stderr. Returns an exit code. */
int tune_run(const TuneOptions *o, FILE *out);

/* Prints the machine and a sentence for each record, with the choice and its
 * reason: for `attnc records explain` and the end of the report. target: this
 * machine's name among those of its instruction set. */
void records_explain(const Records *r, const Host *here, const char *target,
                     const Machine *m, FILE *out);

#endif
