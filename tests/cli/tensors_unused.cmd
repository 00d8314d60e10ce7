0 tensors tests/torch/qk_norm.yaml --set norm.qk=false
