2 compile tests/cli/small.yaml --plain --skip=fuse-attention -o TMP/x.c
