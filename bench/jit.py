#!/usr/bin/env python3
"""jit.py: how near is libtcc's code to a C compiler's? 20 random specs of fixed
seeds, and g2p's, are timed with both back ends, one beside the other, in
several rounds of `attnc sweep --vary backend=jit,clang`. A ratio is the C
compiler's time over libtcc's, the median of the rounds: 1 is as fast, less is
slower. Writes build/jit.json and prints each, the median and the worst.

    bench/jit.py [--attnc build/attnc] [--rounds 5] [--seconds 0.2]
                 [--threads 1] [--length 32] [--only m3_1,m3_18,g2p-en]
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from predict import WORKS, specs

G2P = "models/g2p-en/g2p-en.yaml"


def times(o, paths):
    """{(spec, work): [seconds of libtcc, of the C compiler]}"""
    out = subprocess.run([o.attnc, "sweep", *paths, "--format=json",
                          "--vary", "backend=jit,clang", "--no-records",
                          f"--threads={o.threads}", f"--seconds={o.seconds}",
                          "-p", str(o.length)],
                         check=True, stdout=subprocess.PIPE)
    found = {}
    for row in json.loads(out.stdout)["rows"]:
        for work in WORKS:
            if row.get(f"{work}_ms"):
                key = (os.path.basename(row["spec"]), work)
                found.setdefault(key, {})[row["values"]["backend"]] = \
                    row[f"{work}_ms"]
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnc", default="build/attnc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--length", type=int, default=32)
    parser.add_argument("--only", help="these specs alone, with commas")
    o = parser.parse_args()
    ratios = {}
    with tempfile.TemporaryDirectory() as folder:
        paths = specs(folder, 3, 20) + [G2P]
        if o.only:
            paths = [p for p in paths
                     if os.path.basename(p)[:-len(".yaml")]
                     in o.only.split(",")]
        for _ in range(o.rounds):
            for key, ms in times(o, paths).items():
                ratios.setdefault(key, []).append(ms["clang"] / ms["jit"])
    table = [{"spec": spec, "work": work, "ratio": statistics.median(r),
              "least": min(r), "most": max(r)}
             for (spec, work), r in sorted(ratios.items())]
    for row in table:
        print("{spec:14} {work:8} {ratio:.3f} ({least:.3f} .. {most:.3f})"
              .format(**row))
    middle = [row["ratio"] for row in table]
    print(f"{len(table)} workloads: median {statistics.median(middle):.3f}, "
          f"worst {min(middle):.3f}")
    os.makedirs("build", exist_ok=True)
    with open("build/jit.json", "w", encoding="utf-8") as out:
        json.dump(table, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
