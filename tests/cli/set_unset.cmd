3 graph models/transformer-base.yaml --set d_model= -o TMP/g
3 graph models/transformer-base.yaml --set d_kk= -o TMP/g
