3 score tests/cli/small.yaml --ids --set max_len=4
3 score tests/cli/small.yaml --ids --set kind=decoder,max_len=4
