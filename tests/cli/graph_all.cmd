graph tests/graph/bare.yaml --stage=all
