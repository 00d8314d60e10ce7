"""attnc beside its peers: the same weights, the same inputs, the same threads.

usage: build/peers/bin/python bench/peers/compare.py [options]

Each peer is a process of its own (worker.py), pinned to the cores of the
workload. A peer whose output differs from attnc's is not timed, unless the
workload says that it computes another model. What has fewer bits than f32 is
compared with itself in f32 instead, and what it loses is told beside its speed;
it is without AMX, and, where the CPU has that, measured with it too. All run in
turn, round after round; medians and bests of all rounds are printed, and
written into --history for report.py. What a machine does not have is told in
the table, not left out."""
import argparse
import contextlib
import datetime
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

import accuracy
import history
import instructions
import workloads
from programs import PROGRAMS, measured

WORKER = os.path.join(workloads.HERE, "worker.py")
ROUNDS, LEAST_ROUNDS = 7, 3
PATIENCE = 240                   # seconds for one answer of a peer


class Peer:
    """A worker, from its start to its last answer."""

    def __init__(self, name, path):
        self.name, self.times, self.wrong = name, [], None
        self.program, self.accuracy = PROGRAMS[name], {}
        self.log = os.path.join(os.path.dirname(path), name + ".log")
        self.result = os.path.join(os.path.dirname(path), name + ".npy")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, WORKER, name, path], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log,
                env=dict(os.environ, GLIBC_TUNABLES="glibc.malloc.hugetlb=1"))

    def ready(self):
        found = self.answer()
        self.version = found["version"] if found else None
        self.dot_products = found["dot_products"] if found else None

    def answer(self):
        """The next line of the worker; None where it ended."""
        out = self.process.stdout
        line = (out.readline() if select.select([out], [], [], PATIENCE)[0]
                else b"")
        if line:
            return json.loads(line)
        self.wrong = self.reason()
        self.process.kill()
        return None

    def reason(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self.process.wait(1) < 0:
                signals = signal.Signals(-self.process.returncode)
                return f"ended by {signals.name}"
        with open(self.log, encoding="utf-8", errors="replace") as log:
            lines = log.read().strip().split("\n")
        if "No module named" in lines[-1]:
            return "not installed"
        return lines[-1][:120] or "ended, or took too long"

    def rest(self):
        """Threads that spin while they wait would disturb the others."""
        self.process.send_signal(signal.SIGSTOP)

    def run(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{seconds}\n".encode())
        self.process.stdin.flush()
        self.times += self.answer() or []
        self.rest()

    def end(self):
        self.process.kill()
        self.process.wait()

    def compare(self, work, expected):
        """Tokens must be equal, numbers within the tolerance; a NaN is not."""
        found = np.load(self.result)
        if found.shape != expected.shape:
            self.wrong = f"shape {found.shape} instead of {expected.shape}"
            return
        if self.name in work.get("other_model", []):
            self.difference = None
            return
        self.difference = float(np.abs(found - expected).max())
        tolerance = work.get("tolerances", {}).get(
            self.name, work.get("tolerance", 0))
        if not self.difference <= tolerance:
            self.wrong = f"other outputs, by {self.difference:.3g}"

    def weigh(self, own):
        """What it loses against itself in f32, which is `own`, a Peer."""
        if own.wrong:
            self.wrong = f"{own.name}: {own.wrong}"[:120]
            return
        found, right = np.load(self.result), np.load(own.result)
        if found.shape != right.shape:
            self.wrong = f"shape {found.shape} instead of {right.shape}"
            return
        self.accuracy = accuracy.of(found.ravel().tolist(),
                                    right.ravel().tolist())
        self.wrong = accuracy.wrong(self.accuracy)

    def row(self, per):
        """Times are of 1 / per of a run."""
        row = {"peer": self.name, "version": self.version}
        if self.wrong:
            return dict(row, missing=self.wrong)
        row.update(self.accuracy or {"difference": self.difference})
        if self.program.products != "f32":
            row["dot_products"] = self.dot_products
        return dict(row, runs=len(self.times),
                    p50_ms=statistics.median(self.times) / per,
                    best_ms=min(self.times) / per)


def measure(peers, seconds):
    """Rounds of short slices, one peer after the other."""
    begin = time.perf_counter()
    for peer in peers:
        peer.rest()
    for i in range(ROUNDS):
        for peer in peers:
            if not peer.wrong:
                peer.run(seconds / ROUNDS)
        spent = time.perf_counter() - begin
        if i + 1 >= LEAST_ROUNDS and spent > 2 * seconds * len(peers):
            return


def check(work, peers):
    """Whose result is wrong; what is of fewer bits, after the others."""
    expected = np.load(peers[0].result)
    by_name = {peer.name: peer for peer in peers}
    for peer in sorted(peers, key=lambda peer: bool(peer.program.of)):
        if peer.wrong:
            continue
        if peer.program.of:
            peer.weigh(by_name[peer.program.of])
        else:
            peer.compare(work, expected)


def compare(work, names, options):
    """The workload's part of the report."""
    report = {key: work[key] for key in ("name", "title", "kind", "threads",
                                         "flops") if key in work}
    if work["threads"] > len(os.sched_getaffinity(0)):
        return dict(report, missing=f"{work['threads']} cores are needed")
    if not os.path.exists(os.path.join(workloads.ROOT,
                                       work.get("weights", "models"))):
        return dict(report, missing="its weights are not here")
    path = workloads.write(work, options.attnc)
    peers = []
    try:
        for name in measured(names, instructions.AMX in instructions.of_cpu()):
            peers.append(Peer(name, path))
        for peer in peers:
            peer.ready()
        if peers[0].wrong:
            return dict(report, missing=f"attnc: {peers[0].wrong}")
        check(work, peers)
        measure([p for p in peers if not p.wrong], options.seconds)
        if peers[0].wrong:
            return dict(report, missing=f"attnc: {peers[0].wrong}")
    finally:
        for peer in peers:
            peer.end()
    return dict(report,
                rows=[peer.row(work.get("per", 1)) for peer in peers])


def revision():
    """Of this repository; with a + where files differ from it."""
    git = ["git", "-C", workloads.ROOT]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        found = subprocess.run([*git, "rev-parse", "--short=10", "HEAD"],
                               check=True, stdout=subprocess.PIPE,
                               encoding="utf-8").stdout.strip()
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--",
                                  "compiler", "runtime"]).returncode
        return found + "+" * bool(changed)
    return None


def machine(attnc):
    """What the table was measured on."""
    done = subprocess.run(
        [attnc, "bench", os.path.join(workloads.ROOT, "models/tiny.yaml"),
         "--threads", "1", "--no-kernels", "--seconds", "0.05", "--format",
         "json"], check=True, stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    compiler = subprocess.run(
        [os.environ.get("CC", "clang-19"), "--version"], check=True,
        stdout=subprocess.PIPE, encoding="utf-8").stdout.split("\n")[0]
    return {"cpu": found["cpu"], "march": found["march"],
            "attnc": revision(), "cores": len(os.sched_getaffinity(0)),
            "fma_gflop_per_s": found["fma_gflop_per_s"],
            "dot_products": instructions.of_cpu(), "compiler": compiler}


def beside(row):
    """How far the result is from attnc's, or from its own in f32."""
    if "difference" not in row:
        return accuracy.text(row)
    return ("another model" if row["difference"] is None
            else f"{row['difference']:.1e}")


def print_rows(report):
    title = report["title"]
    if "missing" in report:
        print(f"| {title} | not measured: {report['missing']} | | | | |",
              flush=True)
        return
    attnc = report["rows"][0]
    for row in report["rows"]:
        name = f"{row['peer']} {row['version'] or ''}".strip()
        if "dot_products" in row:
            name += f", {row['dot_products']}"
        if "missing" in row:
            print(f"| {title} | {name} | {row['missing']} | | | |")
            continue
        print(f"| {title} | {name} | {row['p50_ms']:.3f}",
              f"| {row['best_ms']:.3f}",
              f"| {row['p50_ms'] / attnc['p50_ms']:.2f}",
              f"| {beside(row)} |")
    sys.stdout.flush()


def today(folder, here):
    """The path of today's report of this machine; the workloads it has. The
    peak is the best of the day: a rate is lower where others disturbed it."""
    if not folder:
        return None, {}
    path = history.path_of(folder, datetime.date.today().isoformat(),
                           here["march"])
    if not os.path.exists(path):
        return path, {}
    old = history.load(path)
    here["fma_gflop_per_s"] = max(here["fma_gflop_per_s"],
                                  old["machine"]["fma_gflop_per_s"])
    return path, {work["name"]: work for work in old["workloads"]}


def save(path, here, found):
    order = [w["name"] for w in workloads.WORKLOADS]
    history.save(path, {"machine": here, "workloads": sorted(
        found.values(), key=lambda w: order.index(w["name"]))})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnc", default="build/attnc")
    parser.add_argument("--history", metavar="FOLDER",
                        help="where a file has the reports of this machine and"
                             " day; workloads that are not measured now stay as"
                             " they are in it")
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME",
                        help="workloads whose names begin so")
    parser.add_argument("--peers", nargs="+", metavar="PEER",
                        choices=list(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=1.0,
                        help="of runs, for each peer and workload")
    parser.add_argument("--list", action="store_true",
                        help="names the workloads and ends")
    return parser.parse_args()


def main():
    options = arguments()
    chosen = [w for w in workloads.WORKLOADS
              if w["name"].startswith(tuple(options.only))]
    if options.list:
        for work in chosen:
            print(f"{work['name']:24} {', '.join(work['peers'])}")
        return
    begin = time.perf_counter()
    here = machine(options.attnc)
    path, found = today(options.history, here)
    print(f"{here['cpu']}, {here['cores']} cores, {here['fma_gflop_per_s']}"
          f" GFLOP/s of multiply-adds a core; {here['compiler']}\n")
    print("| workload | program | median ms | best ms | / attnc | difference"
          " or loss |\n|---|---|---|---|---|---|")
    for work in chosen:
        names = [p for p in work["peers"]
                 if not options.peers or p in options.peers]
        report = compare(work, names, options)
        print_rows(report)
        found[work["name"]] = report
        if path:
            save(path, here, found)
    print(f"\n{time.perf_counter() - begin:.0f} seconds")


if __name__ == "__main__":
    main()
