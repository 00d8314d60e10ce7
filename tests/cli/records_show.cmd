0 records show tests/cli/records/mine.txt
