3 run models/g2p-en/g2p-en.yaml --prompt=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
3 run models/g2p-en/g2p-en.yaml --prompt=he7lo
3 run models/g2p-en/g2p-en.yaml --prompt=
3 run models/g2p-en/g2p-en.yaml --load-state models/g2p-en/g2p-en.yaml
0 run models/g2p-en/g2p-en.yaml --prompt=a -n 2 --save-state TMP/state
3 run tests/cli/small.yaml --ids --load-state TMP/state
