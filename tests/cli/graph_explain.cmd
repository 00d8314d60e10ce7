0 graph tests/cli/small.yaml --explain --after=merge-qkv -o TMP/graph.txt
