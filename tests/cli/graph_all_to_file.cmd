0 graph tests/cli/block.yaml --stage=all -o TMP/g.txt
