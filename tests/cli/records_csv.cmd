0 records show tests/cli/records/mine.txt --format csv
