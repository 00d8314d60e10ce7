run models/g2p-en/g2p-en.yaml
run tests/cli/small.yaml --ids
