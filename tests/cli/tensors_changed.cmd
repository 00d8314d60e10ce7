0 tensors tests/spec/names-change.yaml
