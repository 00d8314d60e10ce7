"""One peer with one workload, in a process of its own, which compare.py starts.

usage: worker.py PROGRAM WORKLOAD.json

It prepares, runs once, writes what came out to PROGRAM.npy beside the workload,
pins itself to as many cores as the workload has threads, prints a line of JSON
with its version and the dot products that it may use, and then
answers each line of stdin, a number of seconds, with the times of the runs that
it made in them, in ms."""
import ctypes
import importlib
import json
import os
import signal
import sys
import time

import instructions
import programs

PR_SET_PDEATHSIG = 1             # it does not outlive compare.py


def timed(run, seconds):
    """At least one run, and as many as begin in that time."""
    times, begin = [], time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        from_ = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - from_))
    return times


def pin(threads):
    """All threads of this process to the same cores."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    for task in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(task), cores)


def main():
    name, path = sys.argv[1:]
    program = programs.PROGRAMS[name]
    with open(path, encoding="utf-8") as file:
        work = json.load(file)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                # what libraries print is not an answer
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(work["threads"])
    if not program.amx:
        instructions.deny_amx()
    module = importlib.import_module(program.module)
    run, result = module.prepare(work, program.variant)
    import numpy as np
    np.save(os.path.join(work["folder"], name + ".npy"), result(run()))
    pin(work["threads"])
    kind = (instructions.BF16 if program.products == instructions.BF16
            else instructions.INT)
    print(json.dumps({"version": module.version(work),
                      "dot_products": instructions.usable(kind)}),
          file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(run, float(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
