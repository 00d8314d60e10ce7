0 records show tests/cli/records/empty.txt
0 records export tests/cli/records/mine.txt
