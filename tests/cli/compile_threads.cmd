0 compile models/tiny.yaml --threads=4 --no-records -o TMP/m.c
