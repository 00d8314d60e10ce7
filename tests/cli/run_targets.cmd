run models/g2p-en/g2p-en.yaml --width=1
run models/g2p-en/g2p-en.yaml --width=4
run models/g2p-en/g2p-en.yaml --tile=7x48
run models/g2p-en/g2p-en.yaml --skip=all
run models/g2p-en/g2p-en.yaml --march=generic --backend=jit
run models/g2p-en/g2p-en.yaml --weights=models/g2p-en/g2p-en.safetensors --beam=4
