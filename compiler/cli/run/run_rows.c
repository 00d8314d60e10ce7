/* run_rows.c: the program for models whose answers are rows, with an engine as
 * its model. */
#include "cli/run/answering.h"

#include "runtime/program/program.c"
#include "runtime/program/program_lines.c"
#include "runtime/program/program_task.c"
#include "runtime/program/program_rows.c"
#include "runtime/program/program_parts.c"
#include "runtime/program/program_batches.c"

void rows_answers(struct program *p)
{
    p->use = program_use(p);
    if (p->status == ExitDone)
        program_run(p);
    program_free(p);
}
