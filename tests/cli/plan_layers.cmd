0 plan tests/spec/layers.yaml --march=x86-64-v3 --no-records
