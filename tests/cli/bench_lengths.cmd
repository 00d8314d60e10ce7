bench models/tiny.yaml -p 4..2
bench models/tiny.yaml -p 4..
bench models/tiny.yaml -p 8,
bench models/tiny.yaml -p x
bench models/tiny.yaml -p 0
bench models/tiny.yaml -p 99999999999
bench models/tiny.yaml -p 4,99
