#!/usr/bin/env python3
"""against.py: this attnc beside that of another revision, over the workloads of
bench/peers/table.py, attnc alone: is it faster, or slower?

    bench/against.py REV [--attnc build/attnc] [--only g2p,llama ..]
                     [--seconds 120] [--json FILE]

REV is built in build/against/COMMIT once. A pair is one process of each build,
`attnc bench` of the same model, seed and options; the next pair begins with the
other one. The ratio of a workload, the other's time over ours, is the
Hodges-Lehmann estimate over its pairs, with the interval of 95 % of Wilcoxon's
signed-rank test, exact: both hold whatever the noise looks like. Pairs go on
until the interval is within 1 % of the ratio on both sides, or the seconds of
the workload are over; then it says what it can say.

Exit code 1: a workload is slower, and still so when it is measured again (of
35 intervals of 95 %, one or two miss by chance).
"""
import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(HERE, "peers"))
import table  # noqa: E402

WORKLOADS = [w for w in table.WORKLOADS if "spec" in w]  # what bench can run

LEAST_PAIRS, MOST_PAIRS = 6, 200
NEAR = 0.01                      # half of an interval that is narrow enough


# -------------------------------------------------------------- statistics --
def skipped(n):
    """How many Walsh averages of n lie below an interval of 95 %: those whose
    signed-rank sum is that small in one case of 40, or less."""
    ways = [1]
    for rank in range(1, n + 1):
        more = ways + [0] * rank
        for i, count in enumerate(ways):
            more[i + rank] += count
        ways = more
    below = k = 0
    while below + ways[k] <= 0.025 * 2 ** n:
        below += ways[k]
        k += 1
    return k - 1


def interval(ratios):
    """(low, estimate, high) of the ratio; at least LEAST_PAIRS of them."""
    logs = [math.log(r) for r in ratios]
    walsh = sorted((logs[i] + logs[j]) / 2 for i in range(len(logs))
                   for j in range(i, len(logs)))
    k, m = skipped(len(logs)), len(walsh)
    middle = (walsh[(m - 1) // 2] + walsh[m // 2]) / 2
    return tuple(math.exp(x) for x in (walsh[k], middle, walsh[m - 1 - k]))


def narrow(low, ratio, high):
    return ratio / low - 1 <= NEAR and high / ratio - 1 <= NEAR


def verdict(low, ratio, high):
    if high < 1:
        return "slower"
    if low > 1:
        return "faster"
    if narrow(low, ratio, high):
        return "the same"
    if low > 1 - NEAR:
        return f"no loss of {NEAR:.0%}"
    return "can't decide"


# ---------------------------------------------------------------- running --
def arguments_of(work):
    """(options of `attnc bench`, the row of its report)"""
    options = [work["spec"]] + (["--set", work["set"]] if work["set"] else [])
    options += ["--march", work["isa"]] if "isa" in work else []
    lengths = work.get("lengths", [work.get("n") or work.get("prompt")])
    ragged = len(set(lengths)) > 1
    options += ["-t", str(work["threads"]), "-b", str(len(lengths)), "-p",
                f"{min(lengths)}..{max(lengths)}" if ragged
                else str(lengths[0])]
    if work["kind"] in ("encoder", "attention"):
        return options, "encode"
    if work["kind"] == "llama":
        steps = work["steps"] if work["part"] == "step" else 0
        return options + ["-n", str(steps)], work["part"]
    return options + ["-n", str(work["steps"]), "--beam", str(work["beam"])], \
        "search"


class Failed(Exception):
    pass


def milliseconds(attnc, work, seconds):
    """(median of one process, checksum of its result)"""
    options, row = arguments_of(work)
    command = [attnc, "bench", *options, "--backend", "clang", "--no-records",
               "--no-kernels", "--format", "json", "--seconds", str(seconds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise Failed(done.stderr.strip().split("\n")[0])
    rows = {r["workload"]: r for r in json.loads(done.stdout)["rows"]}
    return rows[row]["p50_ms"], rows[row]["checksum"]


def measure(work, ours, other, limit):
    """Pairs in turn; what came of them."""
    until, ratios, sums = time.monotonic() + limit, [], set()
    times = {ours: [], other: []}
    result = {"name": work["name"], "title": work["title"]}
    while len(ratios) < MOST_PAIRS:
        pair = {}
        for attnc in (ours, other) if len(ratios) % 2 else (other, ours):
            pair[attnc], checksum = milliseconds(attnc, work, 0.3)
            times[attnc].append(pair[attnc])
            sums.add(checksum)
        ratios.append(pair[other] / pair[ours])
        if len(ratios) >= LEAST_PAIRS and \
                (narrow(*interval(ratios)) or time.monotonic() > until):
            break
    low, ratio, high = interval(ratios)
    return dict(result, pairs=len(ratios), low=low, ratio=ratio, high=high,
                ms=sorted(times[ours])[len(ratios) // 2],
                other_ms=sorted(times[other])[len(ratios) // 2],
                same_bits=len(sums) == 1, verdict=verdict(low, ratio, high))


# --------------------------------------------------------------- building --
def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True)
    if done.returncode:
        sys.exit(f"git {' '.join(words)}: {done.stderr.decode().strip()}")
    return done.stdout


def build(rev):
    """Path of the attnc of a revision; built where it is not there yet."""
    commit = git("rev-parse", "--verify", rev + "^{commit}").decode().strip()
    folder = os.path.join(ROOT, "build/against", commit)
    attnc = os.path.join(folder, "build/attnc")
    if not os.path.exists(attnc):
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["tar", "-x", "-C", folder], check=True,
                       input=git("archive", commit))
        done = subprocess.run(["make", "-C", folder, "-j2", "B=build"],
                              stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"{rev} does not build: make -C {folder}")
    return commit, attnc


def cpu():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def show(r):
    print(f"{r['title']:<52}{r['ms']:>10.3f}{r['other_ms']:>10.3f}"
          f"{r['ratio']:>8.3f}  {r['low']:.3f} .. {r['high']:.3f}"
          f"{r['pairs']:>5}  {r['verdict']}"
          f"{'' if r['same_bits'] else ', other bits'}", flush=True)


def compare(works, ours, other, seconds):
    results = []
    print(f"{'workload':<52}{'ms':>10}{'other':>10}{'ratio':>8}  "
          f"{'95 %':<14}{'pairs':>7}", flush=True)
    for work in works:
        try:
            result = measure(work, ours, other, seconds)
            if result["verdict"] == "slower":
                show(result)
                result = measure(work, ours, other, seconds)
            show(result)
            results.append(result)
        except Failed as why:
            print(f"{work['title']:<52}  {why}", flush=True)
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rev")
    parser.add_argument("--attnc", default="build/attnc")
    parser.add_argument("--other", help="this attnc in place of a revision's")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--json")
    o = parser.parse_args()
    wanted = tuple(",".join(o.only).split(",")) if o.only else ("",)
    works = [w for w in WORKLOADS if w["name"].startswith(wanted)]
    if not works:
        sys.exit("no workload begins so: " +
                 " ".join(w["name"] for w in WORKLOADS))
    commit, other = (o.rev, o.other) if o.other else build(o.rev)
    print(f"{cpu()}; against {o.rev}, {commit[:12]}; above 1: ours is faster")
    results = compare(works, os.path.abspath(o.attnc), os.path.abspath(other),
                      o.seconds)
    if o.json:
        with open(o.json, "w", encoding="utf-8") as file:
            json.dump({"cpu": cpu(), "commit": commit, "results": results},
                      file, indent=1)
    if not results:
        sys.exit("nothing was measured")
    return any(r["verdict"] == "slower" for r in results)


if __name__ == "__main__":
    sys.exit(main())
