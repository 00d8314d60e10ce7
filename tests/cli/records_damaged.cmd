records show tests/cli/records/damaged.txt
records show tests/cli/records
