3 plan models/tiny.yaml --set dtype=int8
