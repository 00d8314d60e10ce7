6 compile tests/cli/small.yaml --emit=c,so --cc=no-such-compiler -o TMP/m
