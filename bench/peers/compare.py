"""attnc beside its peers, one table: each row's two programs did the same work
in turn in this run, one thread, and gave the same answer. Times are medians,
in brackets the best: where they disagree, something else ran on the machine.

usage: build/peers/bin/python bench/peers/compare.py [build/attnc]"""
import sys

import ctranslate2_g2p

PEERS = [ctranslate2_g2p]


def print_row(row):
    ours, theirs = row["attnc"], row["theirs"]
    print(f"| {row['workload']} | {ours[0]:.3f} ({ours[1]:.3f})",
          f"| {row['peer']} | {theirs[0]:.3f} ({theirs[1]:.3f})",
          f"| {theirs[0] / ours[0]:.2f} ({theirs[1] / ours[1]:.2f})",
          f"| {row['machine']} |", flush=True)


def main():
    attnc = sys.argv[1] if len(sys.argv) > 1 else "build/attnc"
    print("| workload | attnc ms | peer | peer ms | peer / attnc | machine |")
    print("|---|---|---|---|---|---|")
    for peer in PEERS:
        print_row(peer.measure(attnc))


if __name__ == "__main__":
    main()
