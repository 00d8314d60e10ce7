3 run models/llama-1b.yaml --prompt hi
3 run models/llama-1b.yaml
3 score models/llama-1b.yaml
3 run tests/cli/small.yaml --set kind=encoder --prompt hi
2 run models/g2p-en/g2p-en.yaml attention
0 import tests/families/bert -o TMP/bert.yaml
