1 diff tests/cli/small.yaml --set h=4,d_ff=24 --march=x86-64-v3 --no-records
