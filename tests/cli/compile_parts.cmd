0 compile tests/cli/small.yaml --parts=model --march=generic -o TMP/x.c
