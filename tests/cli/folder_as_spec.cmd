4 run tests/cli
