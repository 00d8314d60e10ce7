3 run tests/cli/small.yaml --ids --attention TMP/a.svg
3 run tests/cli/small.yaml --ids --attention TMP/a.svg --prompt 11
3 run tests/cli/small.yaml --attention TMP/a.svg --prompt 1
0 run tests/cli/small.yaml --set kind=decoder --ids --attention TMP/a.svg --prompt 1
4 run tests/cli/small.yaml --set max_len=2 --ids --prompt=1 --prefix=3 --max-output=1 --attention TMP/no/a.svg
