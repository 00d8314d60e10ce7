run --ids tests/cli/real.yaml
run --ids --prompt=1 tests/cli/real.yaml
score --ids tests/cli/real.yaml
