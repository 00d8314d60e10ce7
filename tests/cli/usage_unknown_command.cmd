2 complie models/g2p-en/g2p-en.yaml
