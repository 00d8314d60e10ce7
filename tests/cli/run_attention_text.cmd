run tests/cli/block.yaml
