2 compile tests/cli/small.yaml --plain --parts=model -o TMP/x.c
