3 run models/g2p-en/g2p-en.yaml
3 run tests/cli/small.yaml --ids
