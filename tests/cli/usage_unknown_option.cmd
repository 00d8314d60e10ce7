2 run --beem=4 models/g2p-en/g2p-en.yaml
