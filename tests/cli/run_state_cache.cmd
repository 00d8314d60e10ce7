0 run tests/cli/small.yaml --set kind=decoder --ids --prompt=3 -n 3 --save-state TMP/state
3 run tests/cli/small.yaml --set kind=decoder,cache=bf16 --ids --load-state TMP/state
0 run tests/cli/small.yaml --set kind=decoder,cache=bf16 --ids --prompt=3 -n 3 --save-state TMP/half
3 run tests/cli/small.yaml --set kind=decoder --ids --load-state TMP/half
0 run tests/cli/small.yaml --set kind=decoder,cache=bf16 --ids --load-state TMP/half -n 2
0 run tests/cli/small.yaml --set kind=decoder,cache=bf16 --ids --prompt=3 -n 5
0 run tests/cli/small.yaml --set kind=decoder,cache=int8 --ids --prompt=3 -n 3 --save-state TMP/bytes
3 run tests/cli/small.yaml --set kind=decoder,cache=bf16 --ids --load-state TMP/bytes
0 run tests/cli/small.yaml --set kind=decoder,cache=int8 --ids --load-state TMP/bytes -n 2
0 run tests/cli/small.yaml --set kind=decoder,cache=int8 --ids --prompt=3 -n 5
3 compile tests/cli/small.yaml --set kind=decoder,cache=int4 -o TMP/m.c
3 compile tests/cli/small.yaml --set kind=decoder,cache=int8,attention.score=additive -o TMP/m.c
3 compile tests/cli/small.yaml --set kind=encoder,cache=bf16 -o TMP/m.c
