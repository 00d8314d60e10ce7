0 verify tests/cli/alibi_heads.yaml --seed=1 --backend=jit
