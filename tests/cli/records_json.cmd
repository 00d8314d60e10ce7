0 records show tests/cli/records/theirs.txt --format json
