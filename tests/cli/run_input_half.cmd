2 run tests/cli/block.yaml --input=x.safetensors
