4 records merge tests/cli/records/mine.txt --records TMP/none/tune.txt
