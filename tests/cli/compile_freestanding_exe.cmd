2 compile tests/cli/small.yaml --freestanding --emit=exe -o TMP/x
