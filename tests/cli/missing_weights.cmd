4 run models/g2p-en/g2p-en.yaml --weights=tests/cli/none.safetensors
