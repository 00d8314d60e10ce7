0 records merge tests/cli/records/mine.txt --records TMP/tune.txt
0 records prune --records TMP/tune.txt --cpu old --dry-run
0 records prune --records TMP/tune.txt --cpu old
0 records show --records TMP/tune.txt
0 records prune --records TMP/tune.txt
0 records show --records TMP/tune.txt
