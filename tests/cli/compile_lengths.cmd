2 compile tests/cli/small.yaml --max-input=3 -o TMP/x.c
