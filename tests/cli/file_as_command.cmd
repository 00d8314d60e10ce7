2 tests/cli/one.yaml
2 tests/cli/missing.yaml
2 tests/families/bert
2 tests/families/bert/model.safetensors
2 tests/families/bert/config.json
2 help tests/cli/one.yaml
2 https://example.org/owner/model
2 tests/cli
