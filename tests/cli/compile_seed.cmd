0 compile tests/cli/small.yaml --seed=5 -o TMP/small.c
0 compile tests/cli/small.yaml --seed=5 --embed --emit=exe -o TMP/alone
0 compile models/g2p-en/g2p-en.yaml --seed=5 --quiet -o TMP/g2p.c
