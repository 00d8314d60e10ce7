2 compile models/tiny.yaml --sum-ranks -o TMP/x.c
2 compile models/tiny.yaml --set fix.sum_ranks=true -o TMP/x.c
