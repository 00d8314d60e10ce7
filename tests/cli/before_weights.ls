bert.yaml
