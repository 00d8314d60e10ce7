#!/usr/bin/env python3
"""ranks.py: prints the tables of docs/distributed.md: the speed-up over one
machine, by `attnc plan`, of 2 to 64 machines like this one. Numbers of ranks
that cannot divide the model's heads are left out.

    bench/ranks.py [--attnc build/attnc] MODEL [OPTION of attnc plan ..]
"""
import argparse
import json
import subprocess

LINKS = (("1 Gbit Ethernet", "50us,1Gbit/s"),
         ("10 Gbit Ethernet", "20us,10Gbit/s"),
         ("100 Gbit Ethernet", "10us,100Gbit/s"),
         ("InfiniBand", "1.5us,25GB/s"))
RANKS = (2, 4, 8, 16, 32, 64)


def calls(args, link, ranks):
    out = subprocess.run([args.attnc, "plan", args.model, "--format=json",
                          f"--ranks={ranks}",
                          f"--link={link}", *args.more],
                         capture_output=True, text=True)
    return json.loads(out.stdout)["calls"] if out.returncode == 0 else None


def speed_up(calls, i):
    x = calls[i]["one_rank_s"] / (calls[i]["compute_s"] + calls[i]["gathers_s"])
    return f"{x:.2g}" if x >= 10 else f"{x:.1f}"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--attnc", default="build/attnc")
    args.add_argument("model")
    args, args.more = args.parse_known_args()
    all_ranks = [n for n in RANKS if calls(args, LINKS[0][1], n)]
    one = calls(args, LINKS[0][1], 2)
    print("one machine, ms:", *(f"{c['name']} {1e3 * c['one_rank_s']:.3g}"
                                for c in one))
    print("| link | call |", *(f"{n} |" for n in all_ranks))
    print("|---|---|" + "---|" * len(all_ranks))
    for name, link in LINKS:
        by_ranks = [calls(args, link, n) for n in all_ranks]
        for i, call in enumerate(one):
            print(f"| {'' if i else name} | {call['name']} |",
                  *(f"{speed_up(c, i)} |" for c in by_ranks))


main()
