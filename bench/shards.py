"""What a shard costs: pairs of runs, in turn.

    python3 bench/shards.py [ATTNC] [--pairs 9] [--tokens 32]

MiniLM's shape with random weights, lines of --tokens ids. First one run of all
lines beside --shard=1/1, both with one thread: seconds of the processor, less
those of a run of one line (the start). Then two shards of one thread each, at
the same time, beside one process of two threads: wall time, less the start. It
prints medians of the pairs' ratios, and the load of the machine: wall times are
worth little on a busy one.
"""
import argparse
import os
import random
import resource
import statistics
import subprocess
import tempfile
import time

SPEC = os.path.join(os.path.dirname(__file__), "../models/minilm.yaml")


def cpu():
    """Seconds of the processor of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(commands, lines):
    """Runs the commands at once. Returns their seconds: wall, processor."""
    before, begun = cpu(), time.monotonic()
    started = []
    for command in commands:
        with open(lines) as text:
            started.append(subprocess.Popen(command, stdin=text,
                                            stderr=subprocess.DEVNULL))
    for one in started:
        assert one.wait() == 0
    return time.monotonic() - begun, cpu() - before


def ratios(name, which, cases, pairs):
    """cases: (commands, lines, commands of the start, a line) of two kinds."""
    found = []
    for _ in range(pairs):
        seconds = []
        for commands, lines, one_line in cases:
            start = run(commands, one_line)[which]
            seconds.append(run(commands, lines)[which] - start)
        found.append(seconds[1] / seconds[0])
    found.sort()
    print("%s: %.4f (median of %d pairs, %.4f to %.4f)"
          % (name, statistics.median(found), pairs, found[0], found[-1]),
          flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("attnc", nargs="?", default="build/attnc")
    a.add_argument("--pairs", type=int, default=9)
    a.add_argument("--lines", type=int, default=2048)
    a.add_argument("--tokens", type=int, default=32)
    o = a.parse_args()
    print("load %.1f %.1f %.1f, %d processors"
          % (*os.getloadavg(), os.cpu_count()))
    with tempfile.TemporaryDirectory() as d:
        random.seed(1)
        lines, line = os.path.join(d, "lines"), os.path.join(d, "line")
        with open(lines, "w") as f:
            for _ in range(o.lines):
                print(*(random.randrange(200, 30000) for _ in range(o.tokens)),
                      file=f)
        with open(lines) as f, open(line, "w") as g:
            g.write(f.readline())
        out = os.path.join(d, "out")
        base = [o.attnc, "run", SPEC, "--ids", "--seed=1", "--format=npy"]
        all_of = base + ["--threads=1", "--force", "-o", out + ".npy"]
        two = base + ["--threads=2", "--force", "-o", out + ".npy"]
        shard = base + ["--threads=1", "-o", out, "--shard=%d/%d"]
        shards = [[*shard[:-1], shard[-1] % (i, 2)] for i in (1, 2)]
        run([all_of], line)  # compiles, for the cache
        ratios("processor, --shard=1/1 of one run", 1,
               [([all_of], lines, line),
                ([[*shard[:-1], shard[-1] % (1, 1)]], lines, line)], o.pairs)
        ratios("wall, 2 shards of one thread of one process of 2", 0,
               [([two], lines, line), (shards, lines, line)], o.pairs)
        print("load %.1f %.1f %.1f" % os.getloadavg())


if __name__ == "__main__":
    main()
