2 run tests/tokenizers/pairs.yaml --pairs --ids
2 run tests/tokenizers/pairs.yaml --pairs --input x.safetensors
2 run tests/tokenizers/pairs.yaml --pairs --attention x.svg
2 run models/g2p-en/g2p-en.yaml --pairs
2 run models/g2p-en/g2p-en.yaml --pairs --prompt attention
2 run tests/tokenizers/pairs.yaml --pairs --beam 2
3 run tests/tokenizers/pairs.yaml --set kind=encoder,vocab.file= --pairs
3 run models/g2p-en/g2p-en.yaml --set kind=encoder,weights= --pairs
3 run models/attention.yaml --pairs
2 run tests/tokenizers/pairs.yaml --pair
