0 records show tests/cli/records/old.txt
