0 run models/g2p-en/g2p-en.yaml --fix=batch=33
0 run models/g2p-en/g2p-en.yaml --fix=batch=7 --beam=4
3 run models/g2p-en/g2p-en.yaml --fix=source=3
