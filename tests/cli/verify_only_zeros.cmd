1 verify tests/cli/one.yaml --set kind=encoder,norm.bias=false --backend=jit
