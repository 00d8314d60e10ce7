2 graph models/g2p-en/g2p-en.yaml --skip=fuse-atention
