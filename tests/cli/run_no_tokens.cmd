0 run tests/cli/no_tokens.yaml --ids --scores --beam=4 --min-length=2 --seed=1
