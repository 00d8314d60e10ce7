0 run models/g2p-en/g2p-en.yaml --prompt=attention --prefix=EH
0 run models/g2p-en/g2p-en.yaml --prompt=attention --prefix=EH --end-token=2 --quiet
0 run models/g2p-en/g2p-en.yaml --prompt=attention --suppress=EH
0 run models/g2p-en/g2p-en.yaml --prompt=attention --max-input=3
0 run models/g2p-en/g2p-en.yaml --prompt=attention --top-k=3 --seed=5
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature=1 --top-k=3 --seed=5
0 run models/g2p-en/g2p-en.yaml --prompt=attention --temperature=0 --top-k=3 --seed=5
0 run models/g2p-en/g2p-en.yaml --prompt=attention -n 2 --prefix=EH --save-state TMP/state
0 run models/g2p-en/g2p-en.yaml --load-state=TMP/state --prefix=EH
