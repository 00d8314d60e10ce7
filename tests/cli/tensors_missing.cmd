3 tensors tests/torch/rotary.yaml --set norm.qk=true
