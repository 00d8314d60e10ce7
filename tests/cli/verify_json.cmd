0 verify models/attention.yaml --set d_model=2,h=1 --backend=jit --march=generic --format=json --cases 2
