1 diff - tests/cli/small.yaml --march=x86-64-v3 --no-records
1 diff tests/cli/small.yaml - --march=x86-64-v3 --no-records
