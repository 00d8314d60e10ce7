0 compile tests/cli/small.yaml -o TMP/small.c
