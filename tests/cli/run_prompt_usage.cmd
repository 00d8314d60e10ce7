run models/g2p-en/g2p-en.yaml --prompt=hello --temperature nan
run models/g2p-en/g2p-en.yaml --prompt=hello --temperature -1
run models/g2p-en/g2p-en.yaml --prompt=hello --beam 4
run models/g2p-en/g2p-en.yaml --prompt=hello --stop=
run models/g2p-en/g2p-en.yaml --temperature 1 --nbest 2
