2 compile tests/cli/small.yaml --plain --tile=6x16 -o TMP/x.c
