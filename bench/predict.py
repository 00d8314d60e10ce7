#!/usr/bin/env python3
"""predict.py: how near is `attnc sweep --predict` to what is measured? 60
random specs are swept, from which the times of others are learnt, in a folder
of its own; then 30 others, of fixed seeds and at least a millisecond each, are
predicted, and measured. Writes build/predict.json and prints

    the median and the worst of |predicted / measured - 1|, over the workloads
    of the 30 and over what each model is for

    bench/predict.py [--attnc build/attnc] [--learn 60] [--test 30]
                     [--threads 1] [--length 64]
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

WORKS = ("encode", "prefill", "step", "search")


def spec(rng, name):
    """A model that takes from 0.1 ms to a second, of any kind."""
    kind = rng.choice(["encoder", "decoder", "encoder-decoder"])
    d_k = rng.choice([16, 24, 32, 48, 64, 80, 96, 128])
    h = rng.choice([2, 3, 4, 6, 8, 12])
    d_model = d_k * h
    act = rng.choice(["relu", "gelu", "gelu_tanh", "swiglu"])
    text = (f"attnc: 1\nname: {name}\nkind: {kind}\nd_model: {d_model}\n"
            f"h: {h}\nd_ff: {d_model * rng.choice([2, 3, 4])}\n"
            f"N: {rng.randint(1, 8)}\nmax_len: 512\nactivation: {act}\n"
            f"dtype: {rng.choice(['f32', 'f32', 'f32', 'bf16'])}\n"
            f"vocab:\n  size: {rng.choice([500, 3000, 8000, 20000])}\n"
            + ("" if kind == "encoder"
               else "  tokens: {start: 1, end: 2, pad: 0}\n"))
    if kind == "decoder" and h % 2 == 0 and rng.random() < 0.5:
        text += f"h_kv: {h // 2}\n"
    return text


def specs(folder, seed, count):
    rng = random.Random(seed)
    paths = []
    for i in range(count):
        paths.append(os.path.join(folder, f"m{seed}_{i}.yaml"))
        with open(paths[-1], "w") as out:
            out.write(spec(rng, f"m{i}"))
    return paths


def sweep(o, paths, *more):
    out = subprocess.run([o.attnc, "sweep", *paths, "--format=json",
                          "--no-records", f"--threads={o.threads}",
                          "-p", str(o.length), *more],
                         check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL)
    rows = json.loads(out.stdout)["rows"]
    return {row["spec"]: row for row in rows}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--attnc", default="build/attnc")
    parser.add_argument("--learn", type=int, default=60)
    parser.add_argument("--test", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--length", type=int, default=64)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        sweep(o, specs(folder, 1, o.learn))
        paths = specs(folder, 2, 3 * o.test)
        columns = [f"--columns={','.join(w + '_predicted' for w in WORKS)},"
                   "predicted"]
        said = sweep(o, paths, "--predict", *columns)
        long = [p for p in paths if said[p]["predicted_ms"] >= 1][:o.test]
        found = sweep(o, long)
    errors, mains, table = [], [], []
    for path in long:
        for work in WORKS:
            time = found[path].get(f"{work}_ms")
            if time is None:
                continue
            guess = said[path][f"{work}_predicted_ms"]
            errors.append(abs(guess / time - 1))
            table.append({"spec": os.path.basename(path), "work": work,
                          "ms": time, "predicted_ms": guess})
            print(f"{os.path.basename(path):12} {work:8} {time:10.4f} ms, "
                  f"predicted {guess:10.4f}: {100 * (guess / time - 1):+.1f} %")
        mains.append(errors[-1])
    print(f"{len(long)} specs: median {100 * statistics.median(mains):.1f} %, "
          f"worst {100 * max(mains):.1f} %; {len(errors)} workloads: median "
          f"{100 * statistics.median(errors):.1f} %")
    os.makedirs("build", exist_ok=True)
    with open("build/predict.json", "w") as out:
        json.dump(table, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
