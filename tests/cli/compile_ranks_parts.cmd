2 compile models/tiny.yaml --ranks=2 --freestanding -o TMP/x.c
2 compile models/tiny.yaml --ranks=2 --plain -o TMP/x.c
2 compile models/tiny.yaml --ranks=2 --parts=model -o TMP/x.c
