run tests/cli/small.yaml --ids --attention TMP/a.png
run tests/cli/small.yaml --ids --attention TMP/a.svg --tap decoder.0.x
run tests/cli/small.yaml --ids --attention TMP/a.svg --load-state TMP/s
run tests/cli/small.yaml --ids --attention TMP/a.svg --save-state TMP/s
run tests/cli/small.yaml --ids --attention TMP/a.svg --stop 2
run tests/cli/small.yaml --ids --attention TMP/a.svg --nbest 2
run tests/cli/small.yaml --ids --attention TMP/a.svg --scores
run tests/cli/small.yaml --ids --attention TMP/a.svg --quiet
run tests/cli/small.yaml --ids --attention TMP/a.svg --temperature 1 --beam 2
run tests/cli/small.yaml --ids --attention TMP/a.svg --prefix 11
run tests/cli/small.yaml --ids --attention TMP/a.svg --suppress x
run tests/cli/small.yaml --ids --attention TMP/a.svg --end-token 11
run tests/cli/small.yaml --ids --layer 0
run tests/cli/small.yaml --ids --head 0
run tests/cli/small.yaml --ids --query 0
run tests/cli/small.yaml --set kind=encoder --ids --attention TMP/a.svg -n 3
run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg --prompt 3
run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg --output TMP/o
run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg -n 3
run tests/cli/block.yaml --attention TMP/a.svg
