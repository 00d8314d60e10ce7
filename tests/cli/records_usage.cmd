2 records show --op conv tests/cli/records/mine.txt
2 records sow tests/cli/records/mine.txt
2 records prune tests/cli/records/mine.txt
2 records show --format xml
