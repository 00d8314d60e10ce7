2 compile tests/cli/small.yaml --plain --march=x86-64-v3 -o TMP/x.c
