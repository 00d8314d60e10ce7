6 verify tests/cli/small.yaml --backend=no-such-compiler
