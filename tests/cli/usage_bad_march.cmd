2 plan models/g2p-en/g2p-en.yaml --march=z80
