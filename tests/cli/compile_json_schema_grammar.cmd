2 compile models/g2p-en/g2p-en.yaml --json-schema=tests/cli/cut.json --grammar=tests/cli/phones.gbnf -o TMP/x.c
