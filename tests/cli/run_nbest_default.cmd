0 run tests/cli/small.yaml --ids --set search.rule=recorded --set search.penalty=power --nbest=6
