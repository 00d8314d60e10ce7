0 tokens tests/cli/tokens/fallback.model --offsets
