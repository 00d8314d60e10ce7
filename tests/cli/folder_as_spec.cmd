run tests/cli
