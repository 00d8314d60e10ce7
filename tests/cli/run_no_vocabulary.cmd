3 run tests/cli/small.yaml
