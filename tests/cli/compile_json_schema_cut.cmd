3 compile models/g2p-en/g2p-en.yaml --json-schema=tests/cli/cut.json -o TMP/x.c
