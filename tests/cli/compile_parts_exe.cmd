2 compile tests/cli/small.yaml --parts=handle --emit=exe -o TMP/x
