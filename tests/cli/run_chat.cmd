3 run tests/cli/chat.yaml --chat
2 run tests/cli/chat.yaml --chat --json
0 run tests/cli/chat.yaml --quiet --prompt=^<lo><hello>{}}}}}l}<hole>{
3 run tests/torch/rotary.yaml --chat
2 run tests/cli/chat.yaml --chat --prompt=x
2 run tests/cli/chat.yaml --system=x
3 run tests/torch/pool_mean.yaml --chat
3 run tests/cli/chat.yaml --set vocab.file= --set vocab.size=11 --chat
