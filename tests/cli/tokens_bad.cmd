4 tokens tests/cli/no-such.txt
3 tokens tests/families/bert
3 tokens models/tiny.yaml
4 tokens tests/cli/blind.txt/
2 tokens tests/cli/tokens --decode --offsets
2 tokens tests/cli/tokens --decode --pieces
2 tokens tests/cli/tokens --decode --plain
2 tokens tests/cli/tokens/bytes.json --target
2 tokens models/llama-110m.yaml --target
2 tokens
2 tokens a b
