3 run models/g2p-en/g2p-en.yaml --json-schema=tests/cli/pattern.json
