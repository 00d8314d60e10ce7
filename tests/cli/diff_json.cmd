1 diff tests/cli/small.yaml tests/cli/one.yaml --march=x86-64-v3 --no-records --format=json
