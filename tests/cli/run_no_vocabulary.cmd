run tests/cli/small.yaml
