0 run tests/cli/small.yaml --set kind=decoder --ids --prompt=1 -n 15 --save-state TMP/state
3 run tests/cli/small.yaml --set kind=decoder --ids --load-state TMP/state --prompt=3
