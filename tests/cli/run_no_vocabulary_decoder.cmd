3 run tests/cli/small.yaml --set kind=decoder
3 run tests/cli/small.yaml --set kind=decoder --prompt a
3 score tests/cli/small.yaml --set kind=decoder
3 run tests/cli/small.yaml --set kind=encoder
