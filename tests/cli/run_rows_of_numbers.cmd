3 run --ids tests/cli/real.yaml
3 run --ids --beam=2 --nbest=2 --format=json tests/cli/real.yaml
3 run --ids --prompt=1 tests/cli/real.yaml
3 score --ids tests/cli/real.yaml
