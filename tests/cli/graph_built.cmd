0 graph tests/cli/block.yaml --stage=built
