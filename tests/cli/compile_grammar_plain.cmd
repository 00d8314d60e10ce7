2 compile models/g2p-en/g2p-en.yaml --plain --grammar=tests/cli/phones.gbnf -o TMP/x.c
