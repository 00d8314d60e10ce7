0 run tests/cli/small.yaml --set kind=decoder --ids --prompt=3 -n 3 --save-state TMP/state
3 run tests/cli/small.yaml --set kind=decoder,attention.softcap=50 --ids --load-state TMP/state
3 run tests/cli/small.yaml --set kind=decoder,norm.eps=0.001 --ids --load-state TMP/state
