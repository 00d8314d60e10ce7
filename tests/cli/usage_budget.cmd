2 tune --budget 0 models/tiny.yaml
2 tune --budget 5x models/tiny.yaml
2 tune --budget=-3s models/tiny.yaml
2 tune --budget 1e3 models/tiny.yaml
2 tune --budget 200h models/tiny.yaml
2 tune --budget s models/tiny.yaml
2 tune --format csv models/tiny.yaml
2 tune --tile 6x16 models/tiny.yaml
2 tune
3 tune --budget 2m --dtype f16 models/tiny.yaml
