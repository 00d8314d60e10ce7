0 compile tests/cli/small.yaml --runtime=beside --parts=model --march=generic -o TMP/x.c
0 compile tests/cli/small.yaml --runtime=beside --march=generic -o TMP/x.c
