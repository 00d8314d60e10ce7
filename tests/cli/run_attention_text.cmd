3 run tests/cli/block.yaml
