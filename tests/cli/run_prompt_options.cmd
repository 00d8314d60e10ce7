run models/g2p-en/g2p-en.yaml --prompt=attention --prefix=EH
run models/g2p-en/g2p-en.yaml --prompt=attention --prefix=EH --end-token=2 --quiet
run models/g2p-en/g2p-en.yaml --prompt=attention --suppress=EH
run models/g2p-en/g2p-en.yaml --prompt=attention --max-input=3
run models/g2p-en/g2p-en.yaml --prompt=attention --top-k=3 --seed=5
run models/g2p-en/g2p-en.yaml --prompt=attention --temperature=1 --top-k=3 --seed=5
run models/g2p-en/g2p-en.yaml --prompt=attention --temperature=0 --top-k=3 --seed=5
run models/g2p-en/g2p-en.yaml --prompt=attention -n 2 --prefix=EH --save-state TMP/state
run models/g2p-en/g2p-en.yaml --load-state=TMP/state --prefix=EH
