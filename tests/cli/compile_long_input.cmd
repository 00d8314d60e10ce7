2 compile models/tiny.yaml --freestanding --max-input=17 -o TMP/x.c
