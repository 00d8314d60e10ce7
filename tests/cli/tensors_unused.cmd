0 tensors tests/golden/qk_norm.yaml --set norm.qk=false
