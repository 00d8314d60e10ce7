6 compile models/g2p-en/g2p-en.yaml --emit=obj --cc=no-such-compiler -o TMP/g2p.o
