2 compile models/tiny.yaml --set vocab.size=140000 --seed=1 --embed -o -
2 compile models/tiny.yaml --set vocab.size=140000 --seed=1 --embed -o TMP/a@b.c
