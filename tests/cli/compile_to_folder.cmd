4 compile models/g2p-en/g2p-en.yaml -o TMP
