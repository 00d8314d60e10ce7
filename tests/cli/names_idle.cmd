3 run tests/spec/names-idle.yaml
