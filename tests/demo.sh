#!/bin/sh
# demo.sh BUILD: attnc makes one C file of a model that knows how English words
# sound; a C compiler makes it a program; the program speaks.
set -e
B=${1:-build}
D=$B/demo
mkdir -p "$D"
for c in cc gcc clang-19 clang; do
    command -v $c > /dev/null && CC=$c && break
done
run() { echo "\$ $*"; "$@"; }
run "$B/attnc" compile models/g2p-en/g2p-en.yaml --quiet -o "$D/g2p.c"
run "$CC" -O2 -std=c11 -march=native -DATTNC_MAIN "$D/g2p.c" -lm -o "$D/g2p"
echo "\$ $D/g2p $D/g2p.weights"
for word in attention transformer encoder phoneme compiler; do
    printf '%-12s -> ' $word
    echo $word | "$D/g2p" "$D/g2p.weights"
done
