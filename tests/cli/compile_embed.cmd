0 compile models/g2p-en/g2p-en.yaml --embed -o TMP/g2p --emit=exe
