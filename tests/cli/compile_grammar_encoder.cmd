2 compile models/minilm.yaml --grammar=tests/cli/phones.gbnf -o TMP/x.c
