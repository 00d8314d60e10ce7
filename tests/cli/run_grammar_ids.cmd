2 run models/stories260K.yaml --seed=1 --ids --grammar=tests/cli/phones.gbnf --quiet
