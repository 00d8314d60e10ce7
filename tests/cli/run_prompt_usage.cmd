2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature nan
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature -1
2 run models/g2p-en/g2p-en.yaml --prompt=hello --beam 4
2 run models/g2p-en/g2p-en.yaml --prompt=hello --stop=
2 run models/g2p-en/g2p-en.yaml --temperature 1 --nbest 2
2 run models/g2p-en/g2p-en.yaml --prompt=hello --stop=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
2 run tests/cli/small.yaml --ids --prompt=3 --stop=
2 run tests/cli/small.yaml --ids --prompt=3 --stop=11
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p 1.5
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p -0.1
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-p nan
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --min-p 1.5
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --min-p -1
2 run models/g2p-en/g2p-en.yaml --prompt=hello --temperature 1 --top-k -1
2 run models/g2p-en/g2p-en.yaml --prompt=hello --end-token 99
2 run models/g2p-en/g2p-en.yaml --prompt=hello --prefix ZZ
2 run models/g2p-en/g2p-en.yaml --prompt=hello --scores
2 run models/g2p-en/g2p-en.yaml -n 3
2 run models/g2p-en/g2p-en.yaml --stop x
2 run models/g2p-en/g2p-en.yaml --save-state x
2 run models/g2p-en/g2p-en.yaml --top-k 2 --nbest 2
