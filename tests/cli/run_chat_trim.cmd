0 run tests/cli/chat_trim.yaml --quiet --chat
