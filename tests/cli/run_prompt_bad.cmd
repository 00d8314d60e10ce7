run models/g2p-en/g2p-en.yaml --prompt=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
run models/g2p-en/g2p-en.yaml --prompt=he7lo
run models/g2p-en/g2p-en.yaml --prompt=
run models/g2p-en/g2p-en.yaml --load-state models/g2p-en/g2p-en.yaml
run models/g2p-en/g2p-en.yaml --prompt=a -n 2 --save-state TMP/state
run tests/cli/small.yaml --ids --load-state TMP/state
