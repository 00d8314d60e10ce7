records show tests/cli/records/empty.txt
records export tests/cli/records/mine.txt
