2 compile tests/cli/small.yaml --plain --emit=exe -o TMP/x
