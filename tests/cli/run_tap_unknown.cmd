2 run tests/cli/block.yaml --input=x --output=TMP/y --tap=nothing
