run models/g2p-en/g2p-en.yaml --prompt=hello --temperature nan
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature -1
run models/g2p-en/g2p-en.yaml --prompt=hello --beam 4
run models/g2p-en/g2p-en.yaml --prompt=hello --stop=
run models/g2p-en/g2p-en.yaml --temperature 1 --nbest 2
run models/g2p-en/g2p-en.yaml --prompt=hello --stop=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
run tests/cli/small.yaml --ids --prompt=3 --stop=
run tests/cli/small.yaml --ids --prompt=3 --stop=11
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p 1.5
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p -0.1
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p nan
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --min-p 1.5
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --min-p -1
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-k -1
run models/g2p-en/g2p-en.yaml --prompt=hello --end-token 99
run models/g2p-en/g2p-en.yaml --prompt=hello --prefix ZZ
run models/g2p-en/g2p-en.yaml --prompt=hello --scores
run models/g2p-en/g2p-en.yaml -n 3
run models/g2p-en/g2p-en.yaml --stop x
run models/g2p-en/g2p-en.yaml --save-state x
run models/g2p-en/g2p-en.yaml --quiet
run models/g2p-en/g2p-en.yaml --top-k 2 --nbest 2
