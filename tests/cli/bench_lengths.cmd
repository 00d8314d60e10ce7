2 bench models/tiny.yaml -p 4..2
2 bench models/tiny.yaml -p 4..
2 bench models/tiny.yaml -p 8,
2 bench models/tiny.yaml -p x
2 bench models/tiny.yaml -p 0
2 bench models/tiny.yaml -p 99999999999
2 bench models/tiny.yaml -p 4,99
