2 run tests/cli/small.yaml --set max_len=4096 --set kind=encoder --ids --attention TMP/a.svg
