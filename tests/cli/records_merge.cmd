records export --all tests/cli/records/mine.txt -o TMP/tune.txt
records merge tests/cli/records/theirs.txt --records TMP/tune.txt
records merge tests/cli/records/theirs.txt --records TMP/tune.txt
records show --records TMP/tune.txt
