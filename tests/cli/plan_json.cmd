0 plan tests/cli/block.yaml --march=x86-64-v3 --format=json
