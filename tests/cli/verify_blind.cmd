0 verify tests/cli/blind.yaml --set bias=false --backend=jit
