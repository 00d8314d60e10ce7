2 plan models/g2p-en/g2p-en.yaml --tile=7x7
