0 records export --all tests/cli/records/mine.txt -o TMP/tune.txt
0 records merge tests/cli/records/theirs.txt --records TMP/tune.txt
0 records merge tests/cli/records/theirs.txt --records TMP/tune.txt
0 records show --records TMP/tune.txt
