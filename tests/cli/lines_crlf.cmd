0 run models/g2p-en/g2p-en.yaml
0 tokens tests/cli/tokens/bytes.json
