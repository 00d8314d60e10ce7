0 diff tests/cli/small.yaml tests/cli/small.yaml --march=x86-64-v3 --no-records
0 diff tests/cli/small.yaml tests/cli/small.yaml --set dtype=bf16 --march=x86-64-v3 --no-records
