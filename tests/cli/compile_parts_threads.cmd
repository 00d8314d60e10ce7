2 compile models/tiny.yaml --parts=model --threads=2 -o TMP/x.c
2 compile models/tiny.yaml --parts=model --max-output=5 -o TMP/x.c
