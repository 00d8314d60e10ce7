2 compile tests/cli/small.yaml --plain --freestanding --max-input=2 -o TMP/x.c
