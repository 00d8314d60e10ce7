3 graph tests/cli/small.yaml --set d_modle=3 --color=always
2 run --color=always --no-such
2 graph --color=green
