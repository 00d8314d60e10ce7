0 verify tests/cli/two_softcaps.yaml --seed=1 --backend=jit
