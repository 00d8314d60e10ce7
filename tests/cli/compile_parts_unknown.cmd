2 compile tests/cli/small.yaml --parts=model,words -o TMP/x.c
