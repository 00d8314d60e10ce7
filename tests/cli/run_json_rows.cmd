3 run models/tiny.yaml --set kind=encoder,d_model=4,d_ff=8,N=1 --ids --march=generic --format=json
3 run models/tiny.yaml --set kind=encoder,head=pool,d_model=4,d_ff=8,N=1 --ids --march=generic --format=json
3 run models/attention.yaml --set d_model=1,h=1,max_len=2 --march=generic --format=json
