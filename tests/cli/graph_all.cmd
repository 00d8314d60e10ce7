0 graph tests/graph/bare.yaml --stage=all
