0 compile tests/cli/small.yaml --freestanding --max-input=3 --march=generic -o TMP/x.c
