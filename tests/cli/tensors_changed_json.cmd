0 tensors tests/spec/names-change.yaml --format=json --set=N=1
