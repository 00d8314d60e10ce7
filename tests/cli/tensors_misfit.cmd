3 tensors tests/golden/qk_norm.yaml --set d_ff=24
