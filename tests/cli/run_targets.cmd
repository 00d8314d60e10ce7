0 run models/g2p-en/g2p-en.yaml --width=1
0 run models/g2p-en/g2p-en.yaml --width=4
0 run models/g2p-en/g2p-en.yaml --tile=7x48
0 run models/g2p-en/g2p-en.yaml --skip=all
0 run models/g2p-en/g2p-en.yaml --march=generic --backend=jit
0 run models/g2p-en/g2p-en.yaml --weights=models/g2p-en/g2p-en.safetensors --beam=4
