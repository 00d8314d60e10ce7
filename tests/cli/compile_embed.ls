g2p
