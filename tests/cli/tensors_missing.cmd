3 tensors tests/golden/rotary.yaml --set norm.qk=true
