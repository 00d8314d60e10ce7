0 tokens tests/cli/tokens/bytes.json --null --offsets
