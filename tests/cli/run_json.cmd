3 run models/g2p-en/g2p-en.yaml --format=json --march=generic --nbest 2
3 run models/g2p-en/g2p-en.yaml --format=json --march=generic
0 run models/g2p-en/g2p-en.yaml --format=json --march=generic --prompt fold
0 run models/g2p-en/g2p-en.yaml --format=json --march=generic --prompt fold --stop L
0 run models/g2p-en/g2p-en.yaml --format=json --march=generic --prompt 4 --ids -n 2 --prefix 3
0 run models/g2p-en/g2p-en.yaml --format=json --attention TMP/x.svg
2 run models/g2p-en/g2p-en.yaml --format=json --input TMP/x --output TMP/y
2 run models/tiny.yaml --ids --format=jsonl
