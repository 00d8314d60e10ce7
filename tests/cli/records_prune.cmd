records merge tests/cli/records/mine.txt --records TMP/tune.txt
records prune --records TMP/tune.txt --cpu old --dry-run
records prune --records TMP/tune.txt --cpu old
records show --records TMP/tune.txt
records prune --records TMP/tune.txt
records show --records TMP/tune.txt
