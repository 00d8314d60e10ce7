0 compile models/tiny.yaml --seed=1 -o /dev/null
0 compile models/tiny.yaml --emit=obj -o /dev/null
0 compile models/tiny.yaml --emit=exe -o /dev/null
2 compile models/tiny.yaml --emit=c,obj -o /dev/null
