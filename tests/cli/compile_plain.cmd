0 compile tests/cli/small.yaml --plain --seed=1 -o TMP/x.c
