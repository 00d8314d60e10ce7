2 run tests/cli/small.yaml --ids --attention TMP/a.png
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --tap decoder.0.x
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --load-state TMP/s
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --save-state TMP/s
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --stop 2
2 run tests/cli/prompts.yaml --attention TMP/a.svg --prompt-name=document
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --nbest 2
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --scores
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --temperature 1 --beam 2
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --prefix 11
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --suppress x
2 run tests/cli/small.yaml --ids --attention TMP/a.svg --end-token 11
2 run tests/cli/small.yaml --ids --layer 0
2 run tests/cli/small.yaml --ids --head 0
2 run tests/cli/small.yaml --ids --query 0
2 run tests/cli/small.yaml --set kind=encoder --ids --attention TMP/a.svg -n 3
2 run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg --prompt 3
2 run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg --output TMP/o
2 run tests/cli/small.yaml --input TMP/x --attention TMP/a.svg -n 3
3 run tests/cli/block.yaml --attention TMP/a.svg
