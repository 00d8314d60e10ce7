2 compile tests/cli/small.yaml --parts=text,main -o TMP/x.c
