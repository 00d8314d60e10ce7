0 compare models/tiny.yaml --vary layers.mix=attention --vary p=8,16 --columns=complexity -r 1 -t 1 --svg=TMP/layers.svg
