2 run --threads 0 models/tiny.yaml
2 run --threads=257 models/tiny.yaml
2 bench --threads two models/tiny.yaml
2 graph --threads 2 models/tiny.yaml
