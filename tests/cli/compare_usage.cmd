3 compare models/tiny.yaml --vary layers.mx=attention
2 compare models/tiny.yaml --vary layers.mix=attention --vary p=0
3 compare models/tiny.yaml --vary layers.mix=no-such,neither --vary p=8 --columns=path
2 compare
2 compare models/tiny.yaml --vary p
2 compare models/tiny.yaml --vary p=
2 compare models/tiny.yaml --vary =
