0 plan tests/cli/small.yaml --march=x86-64-v3 --format=svg
