/* world.c: what a tuning asks of the machine: time, rates, compilers and
 * runs, and a place to say how far it is. Tests put their own there.         */
#include "tune/tuner.h"

TuneWorld tune_world = { machine_seconds, machine_measure, spawn_all,
                         child_round, tune_progress };

double tune_now(void)
{
    return tune_world.now();
}
