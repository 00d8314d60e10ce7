0 graph models/transformer-base.yaml --set h=4 -o TMP/g
0 graph models/transformer-base.yaml --set h=4 --set d_k= --set d_v= -o TMP/g
