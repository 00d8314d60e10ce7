0 graph tests/cli/block.yaml --format=svg --stage=built
