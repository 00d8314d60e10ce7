"""attnc beside its peers, one table: each row's two programs did the same work
in turn in this run, one thread, and gave the same answer.

usage: build/peers/bin/python bench/peers/compare.py [build/attnc]"""
import sys

import ctranslate2_g2p

PEERS = [ctranslate2_g2p]


def main():
    attnc = sys.argv[1] if len(sys.argv) > 1 else "build/attnc"
    print("| workload | attnc ms | peer | peer ms | peer / attnc | machine |")
    print("|---|---|---|---|---|---|")
    for peer in PEERS:
        row = peer.measure(attnc)
        print(f"| {row['workload']} | {row['attnc_ms']:.3f} | {row['peer']} "
              f"| {row['peer_ms']:.3f} "
              f"| {row['peer_ms'] / row['attnc_ms']:.2f} "
              f"| {row['machine']} |", flush=True)


if __name__ == "__main__":
    main()
