0 run models/g2p-en/g2p-en.yaml --prompt=attention
0 run models/g2p-en/g2p-en.yaml --prompt=attention -n 3 --save-state TMP/state
0 run models/g2p-en/g2p-en.yaml --load-state TMP/state
0 run models/g2p-en/g2p-en.yaml --load-state TMP/state --backend=clang
0 run models/g2p-en/g2p-en.yaml --prompt=attention --stop=SH
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 2 --seed 7
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 2 --seed 7 --backend=clang --march=generic
