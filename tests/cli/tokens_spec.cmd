3 tokens models/g2p-en/g2p-en.yaml
3 tokens models/g2p-en/g2p-en.yaml --target
3 tokens models/g2p-en/g2p-en.yaml --format=json
