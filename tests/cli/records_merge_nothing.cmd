2 records merge
4 records merge TMP/none --records TMP/tune.txt
