0 tensors models/gpt2-small.yaml --set N=1 --format=json
0 tensors models/g2p-en/g2p-en.yaml --set kind=encoder,N=1 --format=json
