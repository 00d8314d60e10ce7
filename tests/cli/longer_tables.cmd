0 run tests/torch/masked_words.yaml --ids
0 run tests/torch/masked_words.yaml --ids --set vocab.size=9
0 run tests/torch/pool_mean.yaml --ids
0 run tests/torch/pool_mean.yaml --ids --set max_len=4
