3 tensors tests/torch/qk_norm.yaml --set d_ff=24
