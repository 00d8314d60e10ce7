0 sweep models/transformer-base.yaml --vary h=4,8,16 --columns=parameters,d_k.encoder,d_v.encoder
0 sweep models/transformer-base.yaml --set d_k=,d_v= --vary h=4,8,16 --columns=parameters,d_k.encoder,d_v.encoder
