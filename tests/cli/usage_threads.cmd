run --threads 0 models/tiny.yaml
run --threads=257 models/tiny.yaml
bench --threads two models/tiny.yaml
graph --threads 2 models/tiny.yaml
