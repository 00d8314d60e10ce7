0 run tests/cli/recurrent.yaml --seed 1 --quiet --ids --prompt 7 -n 70
0 run tests/cli/recurrent.yaml --seed 1 --quiet --ids --prompt 7 -n 61 --save-state TMP/s
0 run tests/cli/recurrent.yaml --seed 1 --quiet --ids --load-state TMP/s -n 9
0 run tests/cli/recurrent.yaml --seed 1 --quiet --ids --prompt 7 -n 59 --save-state TMP/s
0 run tests/cli/recurrent.yaml --seed 1 --quiet --ids --load-state TMP/s -n 11
0 run tests/cli/recurrent.yaml --set vocab.tokens.end=55 --seed 1 --quiet --ids --prompt 7 --save-state TMP/s
0 run tests/cli/recurrent.yaml --set vocab.tokens.end=55 --seed 1 --quiet --ids --load-state TMP/s -n 5
