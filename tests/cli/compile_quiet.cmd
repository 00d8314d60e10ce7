0 compile tests/cli/small.yaml --quiet -o TMP/small.c
