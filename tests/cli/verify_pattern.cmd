0 verify tests/cli/pattern.yaml --seed=1 --backend=jit
