run tests/cli/none.yaml
