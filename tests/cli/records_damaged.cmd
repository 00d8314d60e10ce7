0 records show tests/cli/records/damaged.txt
4 records show tests/cli/records
