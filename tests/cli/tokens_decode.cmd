3 tokens tests/cli/tokens --decode
3 tokens tests/cli/tokens --decode --format=json
