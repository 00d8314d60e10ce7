tune --budget 0 models/tiny.yaml
tune --budget 5x models/tiny.yaml
tune --budget=-3s models/tiny.yaml
tune --budget 1e3 models/tiny.yaml
tune --budget 200h models/tiny.yaml
tune --budget s models/tiny.yaml
tune --format csv models/tiny.yaml
tune --tile 6x16 models/tiny.yaml
tune
tune --budget 2m --dtype f16 models/tiny.yaml
