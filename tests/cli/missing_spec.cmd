4 run tests/cli/none.yaml
