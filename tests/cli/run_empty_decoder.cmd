run models/tiny.yaml --set kind=decoder --set search.beam=1 --ids --prompt= --quiet
run tests/cli/small.yaml --set kind=decoder --ids --attention TMP/a.json
run models/gpt-nano-sort.yaml --ids --prompt=
run models/gpt-nano-sort.yaml --ids
run models/tiny.yaml --set kind=decoder --set search.beam=1 --ids
