run tests/cli/small.yaml --ids --attention TMP/a.svg --layer 1
