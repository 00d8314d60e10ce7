0 compile models/g2p-en/g2p-en.yaml -o TMP/g2p.c --emit=c,obj,so,exe -O1
