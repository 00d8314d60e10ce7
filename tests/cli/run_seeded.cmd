0 run tests/cli/small.yaml --ids --max-output=4 --seed=3
