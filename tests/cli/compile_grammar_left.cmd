3 compile models/g2p-en/g2p-en.yaml --grammar=tests/cli/left.gbnf -o TMP/x.c
