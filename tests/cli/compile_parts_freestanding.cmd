2 compile tests/cli/small.yaml --freestanding --parts=handle -o TMP/x.c
