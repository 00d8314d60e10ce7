2 compile models/tiny.yaml --grammar=tests/cli/phones.gbnf -o TMP/x.c
