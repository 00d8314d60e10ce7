#!/usr/bin/env python3
"""ranks.py: the cost of a model over ranks, on paper and measured.

    bench/ranks.py MODEL [OPTION of attnc plan ..]
        prints the tables of docs/distributed.md: the speed-up over one machine,
        by `attnc plan`, of 2 to 64 machines like this one. Numbers of ranks
        that cannot divide the model's heads are left out.
    bench/ranks.py --fit [--runs 3] [MODEL [KEY=VALUE ..]]
        times programs of 1 and 2 ranks of one thread on this machine, for
        MODEL or, without it, for two layers of those of docs/ranks.md. Prints
        the --link that fits the exchanges best, and by it predicted / measured.
        --link=LATENCY,RATE uses one found before.

Calls are repeated within the program. Other work on the machine only makes
them longer, so between the exchanges the least time of the processor counts,
and of each exchange the shortest time. How long ranks wait for each other is
left out. The estimate of N ranks is that of `attnc plan`, times measured /
estimated of one rank: the error of the cost model for one rank is not that of
the ranks.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

LINKS = (("1 Gbit Ethernet", "50us,1Gbit/s"),
         ("10 Gbit Ethernet", "20us,10Gbit/s"),
         ("100 Gbit Ethernet", "10us,100Gbit/s"),
         ("InfiniBand", "1.5us,25GB/s"))
RANKS = (2, 4, 8, 16, 32, 64)
INTEGERS = ("dtype=int8", "arithmetic=int8")
SHORT = ("N=2", "vocab.size=1000")
POOLED = ("kind=encoder", "head.type=pool", "head.pool=mean", *SHORT)
MEASURED = (("models/llama-110m.yaml", *SHORT),
            ("models/llama-110m.yaml", *SHORT, *INTEGERS),
            ("models/transformer-base.yaml", *POOLED),
            ("models/transformer-base.yaml", *POOLED, *INTEGERS),
            ("models/minilm.yaml", *SHORT),
            ("models/minilm.yaml", *SHORT, *INTEGERS))


def calls(args, link, ranks, *more):
    out = subprocess.run([args.attnc, "plan", args.model, "--format=json",
                          f"--ranks={ranks}", f"--link={link}", *more],
                         capture_output=True, text=True)
    return json.loads(out.stdout)["calls"] if out.returncode == 0 else None


def speed_up(calls, i):
    x = calls[i]["one_rank_s"] / (calls[i]["compute_s"] + calls[i]["gathers_s"])
    return f"{x:.2g}" if x >= 10 else f"{x:.1f}"


def print_tables(args):
    all_ranks = [n for n in RANKS if calls(args, LINKS[0][1], n, *args.more)]
    one = calls(args, LINKS[0][1], 2, *args.more)
    print("one machine, ms:", *(f"{c['name']} {1e3 * c['one_rank_s']:.3g}"
                                for c in one))
    print("| link | call |", *(f"{n} |" for n in all_ranks))
    print("|---|---|" + "---|" * len(all_ranks))
    for name, link in LINKS:
        by_ranks = [calls(args, link, n, *args.more) for n in all_ranks]
        for i, call in enumerate(one):
            print(f"| {'' if i else name} | {call['name']} |",
                  *(f"{speed_up(c, i)} |" for c in by_ranks))


# ---- measured ----

# Repeats the calls of so many rows and sequences, with the same result. Prints
# the least time of the processor between the exchanges, and the sum of the
# shortest times of each exchange.
TIMED = """
static struct {
    double in, best[1 << 16]; /* processor's seconds in exchanges; shortest */
    int n;                    /* exchanges of this call so far */
    const struct attn_comm *comm;
} timed;

static double timed_clock(clockid_t of)
{
    struct timespec t;

    clock_gettime(of, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if TIMED_RANKS > 1
static void timed_end(double cpu, double begin)
{
    double *best = &timed.best[timed.n];
    const double s = timed_clock(CLOCK_MONOTONIC) - begin;

    *best = *best == 0 || s < *best ? s : *best;
    timed.n++;
    timed.in += timed_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
}

static void timed_gather(void *with, float *y, int64_t ld, int64_t rows,
                         const int64_t *first)
{
    const double cpu = timed_clock(CLOCK_PROCESS_CPUTIME_ID);
    const double begin = timed_clock(CLOCK_MONOTONIC);

    timed.comm->gather(with, y, ld, rows, first);
    timed_end(cpu, begin);
}

static void timed_reduce(void *with, int64_t how, void *x, int64_t ld,
                         int64_t rows, int64_t columns)
{
    const double cpu = timed_clock(CLOCK_PROCESS_CPUTIME_ID);
    const double begin = timed_clock(CLOCK_MONOTONIC);

    timed.comm->reduce(with, how, x, ld, rows, columns);
    timed_end(cpu, begin);
}

/* Makes a batch time its exchanges. */
static void timed_comm(struct attn_batch *b)
{
    static struct attn_parallel parallel;
    static struct attn_comm comm;

    timed.comm = b->parallel->comm;
    comm = *timed.comm;
    comm.gather = timed_gather;
    comm.reduce = timed_reduce;
    parallel = *b->parallel;
    parallel.comm = &comm;
    b->parallel = &parallel;
}
#endif

static void timed_call(void (*call)(const void *, const struct attn_batch *,
                                    void *),
                       const void *bound, const struct attn_batch *b,
                       void *arena)
{
    const int chosen = b->sequences == atoi(getenv("SEQUENCES"))
                    && b->start[b->sequences] == atoi(getenv("ROWS"));
    const int repeat = chosen ? atoi(getenv("REPEAT")) : 1;
    struct attn_batch to = *b;
    double least = 1e9, sum = 0;

#if TIMED_RANKS > 1
    if (chosen)
        timed_comm(&to);
#endif
    for (int i = 0; i < repeat; i++) {
        const double begin = timed_clock(CLOCK_PROCESS_CPUTIME_ID);
        timed.n = 0;
        timed.in = 0;
        call(bound, &to, arena);
        const double s = timed_clock(CLOCK_PROCESS_CPUTIME_ID) - begin
                       - timed.in;
        least = s < least ? s : least;
    }
    for (int i = 0; i < timed.n; i++)
        sum += timed.best[i];
    if (chosen)
        fprintf(stderr, "timed %.9f %.9f\\n", least, sum);
}
"""
ENTRY = """
static void timed_{0}(const void *bound, const struct attn_batch *b,
                    void *arena)
{{
    timed_call({1}, bound, b, arena);
}}
"""


def make_timed(source):
    with open(source) as file:
        text = file.read()
    entries = TIMED
    for entry in ("encode", "decode"):
        name = re.search(rf"\.{entry} = (\w+),", text)[1]
        if name != "0":
            entries += ENTRY.format(entry, name)
            text = text.replace(f".{entry} = {name},",
                                f".{entry} = timed_{entry},")
    model = "static const struct attn_model model = {"
    with open(source, "w") as file:
        file.write(text.replace(model, entries + "\n" + model))


def make_programs(args, folder, model, sets):
    for ranks, cc in ((1, args.cc), (2, "mpicc")):
        more = [] if ranks == 1 else [f"--ranks={ranks}"]
        source = f"{folder}/{ranks}.c"
        subprocess.run([args.attnc, "compile", model, "--quiet", "--seed=1",
                        "-o", source, *more, *(f"--set={s}" for s in sets)],
                       check=True, stderr=subprocess.DEVNULL)
        make_timed(source)
        subprocess.run([cc, "-O2", "-march=native", "-std=gnu11", "-w",
                        f"-DTIMED_RANKS={ranks}", "-DATTNC_MAIN", source,
                        "-o", f"{folder}/{ranks}", "-lm"], check=True,
                       env={**os.environ, "OMPI_CC": args.cc,
                            "MPICH_CC": args.cc})


def put_lines(folder, count, tokens):
    path = f"{folder}/{count}x{tokens}"
    rng = random.Random(1)
    with open(path, "w") as out:
        for _ in range(count):
            print(*(rng.randrange(200, 900) for _ in range(tokens)),
                  file=out)
    return path


def seconds(folder, ranks, call):
    """Times a call of the plan once in a program of `ranks` ranks. A step
    follows the tokens of a line."""
    steps = call["past"] > 0
    sequences, rows = call["sequences"], call["rows"]
    lines = put_lines(folder, sequences, call["past"] or rows)
    repeat = max(3, 5000 // (sequences * rows + 20))
    more = ["--suppress=2", "--max-output=2"] if steps or call["name"] == \
        "prefill" else []
    if steps:  # all lines at the same time, each with a start token
        more += [f"--batch={sequences}",
                 f"--prompt-rows={sequences * (call['past'] + 1)}"]
    start = [] if ranks == 1 else ["mpirun", "-n", str(ranks)]
    out = subprocess.run([*start, f"{folder}/{ranks}", f"{folder}/1.weights",
                          "--ids", "--threads=1", "--no-check", *more],
                         stdin=open(lines), stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "REPEAT": str(repeat),
                              "SEQUENCES": str(sequences),
                              "ROWS": str(sequences * rows)})
    if out.returncode:
        sys.exit(out.stderr)
    return [float(s) for s in re.search(r"^timed (\S+) (\S+)$", out.stderr,
                                        re.M).groups()]


def measure(args, model, sets):
    """Returns, for each call, the plan's estimate for 2 ranks, the seconds of 1
    rank, and of 2 ranks those between the exchanges and those of them."""
    args.model = model
    plan = calls(args, args.link or "1us,1GB/s", 2, "--threads=1",
                 *(f"--set={s}" for s in sets))
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        make_programs(args, folder, model, sets)
        for _ in range(args.runs):
            for i, call in enumerate(plan):
                for n in (1, 2):
                    best[i, n] = [*map(min, best.get((i, n), (1e9, 1e9)),
                                       seconds(folder, n, call))]
    return [(c, best[i, 1][0], *best[i, 2]) for i, c in enumerate(plan)]


def compute_of(row):
    call, one = row[:2]
    return call["compute_s"] * one / call["one_rank_s"]


def fit(rows):
    """Returns the latency and the seconds of a byte with the least squares of
    relative errors of the exchanges."""
    def error(latency, byte):
        return sum(((latency * r[0]["messages"] + byte * r[0]["bytes"]) / r[3]
                    - 1) ** 2 for r in rows)
    best = min((error(1e-7 * 1.05 ** i, 1e-12 * 1.05 ** k), i, k)
               for i in range(150) for k in range(150))
    return 1e-7 * 1.05 ** best[1], 1e-12 * 1.05 ** best[2]


def print_measured(args):
    models = [(args.model, *args.more)] if args.model else MEASURED
    rows = []
    for model, *sets in models:
        for row in measure(args, model, sets):
            rows.append((*row, os.path.basename(model)[:-5] + (
                " int8" if INTEGERS[0] in sets else " f32")))
    if not args.link:
        latency, byte = fit(rows)
        print(f"--link={1e6 * latency:.2g}us,{1e-9 / byte:.2g}GB/s\n")
    print("| model | call | rows | 1 rank, ms | 2 ranks, ms: between exchanges "
          "| predicted | exchanges | predicted | predicted / measured |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        call, one, between, exchanges, name = row
        link = (call["gathers_s"] if args.link else
                latency * call["messages"] + byte * call["bytes"])
        compute = compute_of(row)
        print(f"| {name} | {call['name']} | {call['sequences']} x "
              f"{call['rows']} |",
              *(f"{1e3 * x:.3g} |" for x in (one, between, compute, exchanges,
                                             link)),
              f"{(compute + link) / (between + exchanges):.2f} |")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--attnc", default="build/attnc")
    args.add_argument("--cc", default="clang")
    args.add_argument("--fit", action="store_true")
    args.add_argument("--link")
    args.add_argument("--runs", type=int, default=3)
    args.add_argument("model", nargs="?")
    args, args.more = args.parse_known_args()
    if args.fit:
        print_measured(args)
    else:
        args.more += [f"--link={args.link}"] if args.link else []
        print_tables(args)


main()
