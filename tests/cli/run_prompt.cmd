run models/g2p-en/g2p-en.yaml --prompt=attention
run models/g2p-en/g2p-en.yaml --prompt=attention -n 3 --save-state TMP/state
run models/g2p-en/g2p-en.yaml --load-state TMP/state
run models/g2p-en/g2p-en.yaml --load-state TMP/state --backend=clang
run models/g2p-en/g2p-en.yaml --prompt=attention --stop=SH
run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 2 --seed 7
run models/g2p-en/g2p-en.yaml --prompt=attention --temperature 2 --seed 7 --backend=clang --march=generic
