2 compile tests/cli/small.yaml --embed -o TMP/x.c
