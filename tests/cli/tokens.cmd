0 tokens tests/cli/tokens
0 tokens tests/cli/tokens/tokenizer.json --plain
0 tokens tests/cli/tokens --offsets
0 tokens tests/cli/tokens --pieces --offsets
0 tokens tests/cli/tokens/bytes.json --pieces
0 tokens tests/cli/tokens/bytes.json --pieces --offsets --format=json
