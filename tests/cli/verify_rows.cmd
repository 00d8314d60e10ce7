2 verify models/tiny.yaml --rows=17
