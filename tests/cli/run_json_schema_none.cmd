4 run models/g2p-en/g2p-en.yaml --json-schema=none.json
