bench models/tiny.yaml -p 12 -b 400000000
bench models/tiny.yaml -n 17
bench models/attention.yaml -p 4 --beam 3
bench models/tiny.yaml --format=xml
bench models/tiny.yaml -r 0
bench
bench --machine models/tiny.yaml
bench --machine --svg TMP/x.svg
