2 compile tests/cli/small.yaml --plain --threads=2 -o TMP/x.c
