0 compile tests/cli/small.yaml --emit=obj --save-temps -o TMP/small.o
