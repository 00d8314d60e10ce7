0 run models/tiny.yaml --set kind=decoder --set search.beam=1 --ids --prompt= --quiet
0 run tests/cli/small.yaml --set kind=decoder --ids --attention TMP/a.json
3 run models/gpt-nano-sort.yaml --ids --prompt=
3 run models/gpt-nano-sort.yaml --ids
3 run models/tiny.yaml --set kind=decoder --set search.beam=1 --ids
