3 run models/g2p-en/g2p-en.yaml --grammar=tests/cli/left.gbnf
