2 watch
2 watch -
2 watch - run
4 watch tests/cli
2 watch tests/cli/small.yaml plan
2 watch tests/cli/small.yaml runn
2 watch tests/cli/small.yaml -- tune
2 watch tests/cli/small.yaml --beem=2
2 watch tests/cli/small.yaml bench --machine
2 watch tests/cli/small.yaml bench --format=json
2 watch tests/cli/small.yaml bench --svg TMP/x.svg
2 watch tests/cli/small.yaml run --chat
2 watch tests/cli/small.yaml run --prompt 3 --load-state TMP/s --save-state TMP/s
2 watch tests/cli/small.yaml run -t 1
2 watch tests/cli/small.yaml run other.yaml
2 watch --march=generic tests/cli/small.yaml
