3 run models/tiny.yaml --set kind=encoder,d_model=4,d_ff=8,N=1 --ids --march=generic
3 run models/tiny.yaml --set kind=encoder,d_model=4,d_ff=8,N=1 --ids --march=generic --max-input 2
3 run models/tiny.yaml --set kind=encoder,head=pool,d_model=4,d_ff=8,N=1 --ids --march=generic
3 run models/tiny.yaml --set kind=encoder
2 run models/tiny.yaml --set kind=encoder --ids --beam 4
2 run models/tiny.yaml --set kind=encoder --ids --suppress 4
3 run models/tiny.yaml --set kind=encoder --ids --prompt 4
3 run models/attention.yaml --set d_model=2,h=1,max_len=2 --march=generic
