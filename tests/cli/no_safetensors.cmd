3 run tests/cli/small.yaml --ids --weights tests/cli/small.yaml
