3 score models/g2p-en/g2p-en.yaml
