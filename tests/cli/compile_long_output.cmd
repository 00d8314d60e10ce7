2 compile models/minilm.yaml --freestanding --max-output=5 -o TMP/x.c
