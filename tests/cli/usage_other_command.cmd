2 run --emit=c models/g2p-en/g2p-en.yaml
