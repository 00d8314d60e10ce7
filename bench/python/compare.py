#!/usr/bin/env python3
"""compare.py: attnc's Python package compared with other packages that
embed and rank texts, on MiniLM's shape with random weights.

    ATTNC_LIBRARY=build/libattnc.so PYTHONPATH=bindings/python \\
        python bench/python/compare.py [--texts 1000] [--pairs 100]
            [--rounds 12] [--threads 1 2] [--only NAME ..] [--json FILE]
            [--also PYTHON]

It needs sentence-transformers, tokenizers and onnx; each other package that is
missing is a row that says so. --also names the interpreter of an environment
that has the packages that this one cannot, such as optimum with an older
transformers: rows that fail here run there. Every row is a process of its own,
pinned to as many cores as it has threads. In a round each makes one run, in a
new order. The table has for each row the median of its times with the interval
of 95 % of the median, the ratio to the fastest row, and how much its results
differ from those of sentence-transformers with torch: the largest difference,
divided by the largest element."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = "sentence-transformers torch"


# ---------------------------------------------------------------- a row --
def worker(name, path):
    """Prepares a row, then answers each line of stdin with the ms of a run."""
    import time
    with open(path, encoding="utf-8") as file:
        work = json.load(file)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)                # what packages print is not an answer
    cores = sorted(os.sched_getaffinity(0))[:work["threads"]]
    os.sched_setaffinity(0, cores)
    try:
        import numpy as np
        import rows
        run = rows.ROWS[name](work)
        np.save(path + "." + name.replace("/", "-"), np.asarray(run()))
    except Exception as error:
        first = str(error).strip().split("\n")[0][:90]
        print(json.dumps(f"{type(error).__name__}: {first}"), file=answers)
        return
    print("null", file=answers, flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        run()
        print(1e3 * (time.perf_counter() - begin), file=answers, flush=True)


class Row:
    def __init__(self, name, path, threads, python=sys.executable):
        self.name, self.path, self.threads = name, path, threads
        self.times = []
        self.result = path + "." + name.replace("/", "-") + ".npy"
        self.process = subprocess.Popen(
            [python, __file__, "--worker", name, path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, env={
                **os.environ, "HF_HUB_OFFLINE": "1",
                "TOKENIZERS_PARALLELISM": str(threads > 1).lower(),
                "OMP_NUM_THREADS": str(threads)})

    def ready(self, also=None):
        """Waits for the first run. A row that fails starts again with `also`,
        another interpreter."""
        line = self.process.stdout.readline()
        self.wrong = json.loads(line) if line else "its process ended"
        if self.wrong and also:
            self.end()
            self.__init__(self.name, self.path, self.threads, also)
            self.ready()

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


# --------------------------------------------------------------- a table --
def of_median(times):
    """(low, high): the interval of 95 % of the median, by order statistics;
    fewer than 6 times give the smallest and the largest."""
    n, below, ways, k = len(times), 0.0, 1.0, 0
    while (below + ways) / 2 ** n <= 0.025:
        below += ways
        ways *= (n - k) / (k + 1)
        k += 1
    k = max(k - 1, 0)
    times = sorted(times)
    return times[k], times[n - 1 - k]


def difference(row, reference):
    import numpy as np
    if not (os.path.exists(row.result) and os.path.exists(reference.result)):
        return None
    a, b = np.load(row.result), np.load(reference.result)
    return float(np.abs(a - b).max() / np.abs(b).max())


def measured(title, work, folder, args):
    path = os.path.join(folder, "work.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(work, file)
    sys.path.insert(0, HERE)
    import rows
    names = [n for n in rows.ROWS if not args.only or n in args.only
             or n == REFERENCE]
    found = [Row(name, path, work["threads"]) for name in names]
    for row in found:
        row.ready(args.also)
    good = [row for row in found if not row.wrong]
    for _ in range(args.rounds):
        for row in random.sample(good, len(good)):
            row.run()
    for row in found:
        row.end()
    best = min((statistics.median(r.times) for r in good), default=0)
    reference = next(r for r in found if r.name == REFERENCE)
    print(f"\n{title}, {work['threads']} thread"
          f"{'s' * (work['threads'] > 1)}: ms\n")
    print("| row | median | 95 % | ratio | differs by |\n|---|---|---|---|---|")
    table = []
    for row in sorted(found, key=lambda r: statistics.median(r.times or [9e9])):
        if row.wrong:
            print(f"| {row.name} | {row.wrong} | | | |")
            table.append({"row": row.name, "wrong": row.wrong})
            continue
        ms, (low, high) = statistics.median(row.times), of_median(row.times)
        far = difference(row, reference)
        print(f"| {row.name} | {ms:.1f} | {low:.1f} to {high:.1f} | "
              f"{ms / best:.2f} | {'' if far is None else f'{far:.1e}'} |",
              flush=True)
        table.append({"row": row.name, "times": row.times, "differs": far})
    return {"work": title, "threads": work["threads"], "rows": table}


def main():
    if sys.argv[1:2] == ["--worker"]:
        return worker(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--texts", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--json")
    parser.add_argument("--also")
    args = parser.parse_args()
    sys.path.insert(0, HERE)
    import folders
    tokens, r, found = folders.vocabulary(), random.Random(4), []
    with tempfile.TemporaryDirectory() as folder:
        folders.write(folder)
        texts = {"texts": folders.sentences(args.texts, tokens)}
        even = {"pairs": folders.pairs([128] * args.pairs, tokens)}
        mixed = {"pairs": folders.pairs(
            [r.randint(16, 128) for _ in range(args.pairs)], tokens)}
        for name, title, given in (
                ("embed", f"{args.texts} sentences of 122 characters", texts),
                ("rank", f"{args.pairs} pairs of 128 tokens", even),
                ("rank", f"{args.pairs} pairs of 16 to 128 tokens", mixed)):
            for threads in args.threads:
                work = {"folder": os.path.join(folder, name),
                        "threads": threads, **given}
                found.append(measured(title, work, folder, args))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
