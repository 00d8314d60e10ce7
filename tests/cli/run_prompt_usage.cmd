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
