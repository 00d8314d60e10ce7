0 records export --all tests/cli/records/mine.txt -o TMP/tune.txt
0 records merge tests/cli/records/damaged.txt --records TMP/tune.txt
