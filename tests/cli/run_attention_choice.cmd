0 run tests/cli/small.yaml --ids --attention TMP/a.svg
0 run tests/cli/small.yaml --ids --attention TMP/h.svg --layer 0 --head 1
0 run tests/cli/small.yaml --ids --attention TMP/q.svg --query 1
0 run tests/cli/small.yaml --ids --attention TMP/a.json --prefix 3 --suppress 4 --beam 3
0 run tests/cli/small.yaml --ids --attention TMP/n.json -n 0
0 run tests/cli/small.yaml --ids --attention TMP/i.json --max-input 1
0 run tests/cli/small.yaml --set kind=encoder --ids --attention TMP/e.svg
0 run tests/cli/small.yaml --set kind=decoder --ids --attention TMP/d.svg
