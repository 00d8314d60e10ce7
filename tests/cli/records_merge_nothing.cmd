records merge
records merge TMP/none --records TMP/tune.txt
