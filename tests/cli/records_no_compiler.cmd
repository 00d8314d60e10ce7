6 records export tests/cli/records/mine.txt --cc nosuch
