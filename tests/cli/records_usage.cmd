records show --op conv tests/cli/records/mine.txt
records sow tests/cli/records/mine.txt
records prune tests/cli/records/mine.txt
records show --format xml
