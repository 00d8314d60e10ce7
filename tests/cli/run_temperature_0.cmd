0 run models/g2p-en/g2p-en.yaml --prompt=attention
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 0 --seed 7
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 0 --seed 8 --top-p 0.5 --min-p 0.5 --top-k 3
