2 bench models/tiny.yaml -p 12 -b 400000000
2 bench models/tiny.yaml -n 17
2 bench models/attention.yaml -p 4 --beam 3
2 bench models/tiny.yaml --format=xml
2 bench models/tiny.yaml -r 0
2 bench
2 bench --machine models/tiny.yaml
2 bench --machine --svg TMP/x.svg
