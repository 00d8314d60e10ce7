2 compile models/minilm.yaml --json-schema=tests/schema/order.json -o TMP/x.c
