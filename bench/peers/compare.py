"""attnc beside its peers, one table: each row's two programs did the same work
in turn in this run, one thread, and gave the same answer. Times are medians,
in brackets the best: where they disagree, something else ran on the machine.

usage: build/peers/bin/python bench/peers/compare.py [build/attnc [PEER ...]]

PEER: a script of this folder that has measure(attnc), which returns rows. All
of PEERS where none is named."""
import importlib
import sys

PEERS = ["ctranslate2_g2p", "plain_decoder"]


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
    for peer in sys.argv[2:] or PEERS:
        for row in importlib.import_module(peer).measure(attnc):
            print_row(row)


if __name__ == "__main__":
    main()
