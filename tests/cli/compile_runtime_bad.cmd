2 compile tests/cli/small.yaml --runtime=beside --emit=obj -o TMP/x.o
2 compile tests/cli/small.yaml --runtime=beside -o -
2 compile tests/cli/small.yaml --runtime=beside -o TMP/attn.c
2 compile tests/cli/small.yaml --runtime=beside -o TMP/attn
2 compile tests/cli/small.yaml --runtime=beside --plain -o TMP/x.c
2 compile tests/cli/small.yaml --runtime=there -o TMP/x.c
