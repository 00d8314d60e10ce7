0 verify tests/cli/one.yaml --backend=jit
