2 run tests/cli/small.yaml --ids --attention TMP/a.svg --layer 1
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --head 2
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --query 99 -n 0
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --layer first
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --head -1
2 run tests/cli/small.yaml --set N.decoder=2 --ids --attention TMP/a.svg --query 1 --layer 1 -n 0
