#!/usr/bin/env python3
"""tune.py: is `attnc tune` worth it, bounded, repeatable and safe? Measures

    base    one tune of transformer-base within its budget, then an exhaustive
            search of the same space, and both results side by side
    loss    a short tune of each spec below: gain end to end, how many lose
    fixed   ten of them against one fixed tile, 6x16
    repeat  two tunes of one spec, side by side
    kills   a tuner killed (SIGKILL) at random moments, again and again: broken
            files of records, finished records that were lost

by attnc's own commands and their JSON, and writes build/tune.json and
build/tune.md.

    bench/tune.py [--attnc build/attnc] [--only base,loss,..] [--quick]

Results that are compared are timed anew, in turns: each turn starts `attnc
bench` once for each side, so that what disturbs one disturbs the other. A
ratio is the median over turns, with its least and greatest.
"""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

BASE = "models/transformer-base.yaml"
ENCODER = "kind=encoder"


def shape(d_model, h, d_k, d_ff, layers, more=""):
    return (f"{ENCODER},d_model={d_model},h={h},d_k={d_k},d_v={d_k},"
            f"d_ff={d_ff},N={layers}{more}")


# Name, file, --set, options. Small, odd and large; all kinds of model.
SPECS = [
    ("small-64", BASE, shape(64, 2, 32, 256, 4), "-p 64"),
    ("small-96", BASE, shape(96, 3, 32, 384, 4), "-p 32"),
    ("small-128", BASE, shape(128, 4, 32, 512, 4), "-p 16"),
    ("small-192", BASE, shape(192, 3, 64, 768, 4), "-p 128"),
    ("small-256", BASE, shape(256, 4, 64, 1024, 4), "-p 64"),
    ("odd-100", BASE, shape(100, 4, 25, 300, 4), "-p 77"),
    ("odd-200", BASE, shape(200, 5, 40, 808, 3), "-p 100"),
    ("odd-330", BASE, shape(330, 6, 55, 1000, 3), "-p 50"),
    ("odd-360", BASE, shape(360, 9, 40, 1111, 3), "-p 90"),
    ("odd-400", BASE, shape(400, 8, 50, 1200, 3), "-p 65"),
    ("odd-500", BASE, shape(500, 10, 50, 1700, 2), "-p 129"),
    ("odd-600", BASE, shape(600, 12, 50, 2500, 2), "-p 33"),
    ("odd-720", BASE, shape(720, 9, 80, 1999, 2), "-p 31"),
    ("large-768", BASE, shape(768, 12, 64, 3072, 2), "-p 128"),
    ("large-1024", BASE, shape(1024, 16, 64, 4096, 2), "-p 64"),
    ("large-1280", BASE, shape(1280, 20, 64, 5120, 1), "-p 128"),
    ("large-1536", BASE, shape(1536, 12, 128, 6144, 1), "-p 32"),
    ("long-512", BASE, shape(256, 4, 64, 512, 2, ",max_len=2048"), "-p 1024"),
    ("batch-128", BASE, shape(128, 4, 32, 512, 4), "-p 8..64 -b 16"),
    ("bf16-512", BASE, shape(512, 8, 64, 2048, 2, ",dtype=bf16"), "-p 128"),
    ("bf16-768", BASE, shape(768, 12, 64, 3072, 2, ",dtype=bf16"), "-p 32"),
    ("causal-330", BASE, "kind=decoder,d_model=330,h=6,d_k=55,d_v=55,"
     "d_ff=1000,N=3,vocab.size=4000", "-p 64 -n 16"),
    ("translate-240", BASE, "d_model=240,h=6,d_k=40,d_v=40,d_ff=720,N=3,"
     "vocab.size=5000", "-p 48 -n 16"),
    ("encoder-base", BASE, ENCODER, "-p 128"),
    ("tiny", "models/tiny.yaml", "", "-p 16 -n 8"),
    ("g2p-en", "models/g2p-en/g2p-en.yaml", "", "-p 16 -n 16"),
    ("minilm", "models/minilm.yaml", "", "-p 64"),
    ("gpt2-small", "models/gpt2-small.yaml", "N=3", "-p 64 -n 16"),
    ("t5-small", "models/t5-small.yaml", "N=3", "-p 32 -n 16"),
    ("llama-110m", "models/llama-110m.yaml", "N=3", "-p 64 -n 16"),
]
# Ten of them, and how: long inputs and short ones, batches, a beam, decoding.
FIXED = {"small-64": "-p 64", "small-128": "-p 4 -b 1",
         "small-256": "-p 8 -b 8", "odd-100": "-p 77", "odd-330": "-p 7",
         "odd-720": "-p 31", "large-768": "-p 128", "large-1280": "-p 4",
         "g2p-en": "-p 16 -n 16 --beam 4", "translate-240": "-p 48 -n 16 -b 4"}


class Bench:
    def __init__(self, arguments):
        self.attnc = arguments.attnc
        self.quick = arguments.quick
        self.turns = 3 if self.quick else 9
        self.folder = tempfile.mkdtemp(prefix="attnc_tune_")

    def records(self, name):
        return os.path.join(self.folder, name)

    def command(self, verb, spec, options):
        _, path, sets, size = spec
        return [self.attnc, verb, path] + (["--set", sets] if sets else []) \
            + size.split() + options

    def tune(self, spec, records, options):
        """The report; its own seconds beside those on the clock."""
        command = self.command("tune", spec, options + [
            "--backend", "clang", "--records", records, "--format", "json"])
        with open(records, "a", encoding="utf-8"):
            pass                 # bench wants it, also where nothing was kept
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        report = json.loads(done.stdout)
        report["wall_s"] = time.monotonic() - begin
        return report

    def seconds(self, spec, options):
        """All of it: a search where there is one, else the first workload."""
        command = self.command("bench", spec, options + [
            "--backend", "clang", "--format", "json", "--no-kernels",
            "--seconds", "0.3"])
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        rows = {r["workload"]: r for r in json.loads(done.stdout)["rows"]}
        row = rows.get("search") or next(iter(rows.values()))
        return 1e-3 * row["p50_ms"]

    def compare(self, spec, sides):
        """Medians of each side; ratios of all to the first."""
        times = {name: [] for name in sides}
        for turn in range(self.turns):
            order = list(sides)
            random.Random(turn).shuffle(order)
            for name in order:
                times[name].append(self.seconds(spec, sides[name]))
        first = next(iter(sides))
        result = {"seconds": {n: statistics.median(t)
                              for n, t in times.items()}, "ratio": {}}
        for name in list(sides)[1:]:
            ratio = [a / b for a, b in zip(times[name], times[first])]
            result["ratio"][name] = [min(ratio), statistics.median(ratio),
                                     max(ratio)]
        return result


def spec_named(name):
    return next(s for s in SPECS if s[0] == name)


def geometric(ratios):
    return math.exp(sum(math.log(r) for r in ratios) / len(ratios))


def base(b):
    spec = ("base", BASE, "", "-p 128 -n 32")
    budget = "10s" if b.quick else "60s"
    short = b.tune(spec, b.records("base"), ["--budget", budget])
    whole = b.tune(spec, b.records("all"), [] if b.quick else ["--exhaustive"])
    sides = {"exhaustive": ["--records", b.records("all")],
             "tuned": ["--records", b.records("base")],
             "default": ["--no-records"]}
    return {"wall_s": short["wall_s"], "exhaustive_s": whole["wall_s"],
            "timed": timed(short), "exhaustive_timed": timed(whole),
            **b.compare(spec, sides)}


def timed(report):
    return sum(c["samples"] > 0 for t in report["tasks"]
               for c in t["candidates"])


def loss(b):
    result = []
    for spec in SPECS[::6] if b.quick else SPECS:
        report = b.tune(spec, b.records("loss-" + spec[0]),
                        ["--budget", "3s" if b.quick else "12s"])
        result.append({"spec": spec[0], "wall_s": report["wall_s"],
                       "timed": timed(report), "rejected": report["rejected"],
                       "end_to_end": [e for e in report["end_to_end"]
                                      if e["gain"]]})
        print(spec[0], [f"{e['workload']} {e['gain']['middle']:.3f}"
                        for e in report["end_to_end"] if e["gain"]],
              file=sys.stderr)
    ends = [(r, e) for r in result for e in r["end_to_end"]]
    return {"specs": result, "workloads": len(ends),
            "tuned_specs": sum(bool(r["end_to_end"]) for r in result),
            "slower": [[r["spec"], e["workload"]] for r, e in ends
                       if e["gain"]["high"] < 1 and not r["rejected"]],
            "gain": geometric([gain_of(r) for r in result])}


def gain_of(spec):
    """Of all its workloads; 1 where the default stayed."""
    if spec["rejected"] or not spec["end_to_end"]:
        return 1
    return geometric([e["gain"]["middle"] for e in spec["end_to_end"]])


def fixed(b):
    result = {}
    for name in list(FIXED)[::4] if b.quick else FIXED:
        spec, records = spec_named(name), b.records("fixed-" + name)
        spec = spec[:3] + (FIXED[name] + " -t 1",)
        b.tune(spec, records, ["--budget", "3s" if b.quick else "15s"])
        result[name] = b.compare(spec, {
            "tuned": ["--records", records],
            "fixed": ["--no-records", "--tile", "6x16"],
            "default": ["--no-records"]})
    return {"specs": result} | {
        side: geometric([r["ratio"][side][1] for r in result.values()])
        for side in ("fixed", "default")}


def repeat(b):
    spec = spec_named("odd-330")
    spec = spec[:3] + (spec[3] + " -t 1",)
    for name in "one", "two":
        b.tune(spec, b.records(name), ["--budget", "3s" if b.quick else "20s"])
    return b.compare(spec, {n: ["--records", b.records(n)]
                            for n in ("one", "two")})


def key(record):
    return " ".join(filter(None, [record["op"], record["shape"],
                                  record["dtype"], record["epilogue"]]))


def kill_once(b, records, i, seconds):
    """A tuner that ends by then; the tasks that it called done."""
    spec = spec_named("small-64")
    command = b.command("tune", spec, [
        "--budget", "8s", "--backend", "clang", "--records", records]
        + (["--again"] if i % 2 else []))
    log = b.records("log")
    with open(log, "w", encoding="utf-8") as out:
        tuner = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                 stderr=out, start_new_session=True,
                                 env=os.environ | {"TMPDIR": b.folder})
        try:
            tuner.wait(seconds)
        except subprocess.TimeoutExpired:
            tuner.kill()
            tuner.wait()
    with open(log, encoding="utf-8") as lines:
        return [line.split(":")[1].split(" ", 3)[3] for line in lines
                if line.startswith("attnc: tune ")], tuner


def left_behind(pid):
    """Are there processes of the killed tuner's session, two seconds later?"""
    for _ in range(20):
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    return True


def kills(b):
    records, known = b.records("killed"), set()
    result = {"runs": 20 if b.quick else 200, "killed": 0, "broken": 0,
              "lost": 0, "left_processes": 0, "finished_tasks": 0}
    random.seed(1)
    for i in range(result["runs"]):
        if i % 10 == 0 and os.path.exists(records):
            os.remove(records)
            known = set()
        done, tuner = kill_once(b, records, i, random.uniform(0, 9))
        result["killed"] += tuner.returncode < 0
        result["finished_tasks"] += len(done)
        result["left_processes"] += left_behind(tuner.pid)
        known |= set(done)
        show = subprocess.run([b.attnc, "records", "show", "--records", records,
                               "--format", "json"], capture_output=True,
                              text=True)
        absent = not os.path.exists(records)
        if absent and not known:
            continue
        if show.returncode or show.stderr:
            result["broken"] += 1
            print(show.stderr, file=sys.stderr)
            continue
        kept = {key(r) for r in json.loads(show.stdout)}
        result["lost"] += len(known - kept)
        known |= kept
    kill_once(b, records, 0, 60)         # clears up behind the others
    result["left_folders"] = sum(e.is_dir() for e in os.scandir(b.folder))
    return result


PARTS = {"base": base, "loss": loss, "fixed": fixed, "repeat": repeat,
         "kills": kills}


def interval(ratio):
    return f"{ratio[1]:.3f} ({ratio[0]:.3f} .. {ratio[2]:.3f})"


def markdown(r):
    lines = ["| what | measured |", "|---|---|"]

    def row(what, measured):
        lines.append(f"| {what} | {measured} |")

    if "base" in r:
        x = r["base"]
        row("base: time of a tune", f"{x['wall_s']:.1f} s, {x['timed']} "
            "candidates timed")
        row("base: exhaustive search", f"{x['exhaustive_s']:.0f} s, "
            f"{x['exhaustive_timed']} candidates timed")
        row("base: tuned / exhaustive, end to end", interval(
            x["ratio"]["tuned"]))
        row("base: default / exhaustive", interval(x["ratio"]["default"]))
    if "loss" in r:
        x = r["loss"]
        row("slower than the default, beyond noise", f"{len(x['slower'])} of "
            f"{x['workloads']} workloads; {x['tuned_specs']} of "
            f"{len(x['specs'])} specs left the default")
        row("gain over the default, geometric mean", f"{x['gain']:.3f}")
    if "fixed" in r:
        x = r["fixed"]
        row(f"gain over --tile 6x16, {len(x['specs'])} specs, geometric mean",
            f"{x['fixed']:.3f}")
        row("gain over the default, the same specs", f"{x['default']:.3f}")
    if "repeat" in r:
        row("two tunes of one spec: second / first", interval(
            r["repeat"]["ratio"]["two"]))
    if "kills" in r:
        x = r["kills"]
        row(f"{x['killed']} kills in {x['runs']} runs", f"{x['broken']} broken "
            f"files, {x['lost']} lost of {x['finished_tasks']} finished tasks, "
            f"{x['left_processes']} processes and {x['left_folders']} folders "
            "left")
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--attnc", default="build/attnc")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", default="build/tune")
    parser.add_argument("--quick", action="store_true",
                        help="a few of all, within minutes")
    arguments = parser.parse_args()
    bench, result = Bench(arguments), {}
    for part in arguments.only.split(","):
        result[part] = PARTS[part](bench)
        write(arguments.out + ".json", json.dumps(result, indent=1) + "\n")
        write(arguments.out + ".md", markdown(result))
    print(markdown(result), end="")


if __name__ == "__main__":
    main()
