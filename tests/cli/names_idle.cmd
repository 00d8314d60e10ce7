run tests/spec/names-idle.yaml
