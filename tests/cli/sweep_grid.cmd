0 sweep models/tiny.yaml --vary h=1,2,3,4 --vary N=1..2 --columns=parameters,weights,memory,flops,d_k.encoder -t 1 --march=x86-64-v3 --no-records
0 sweep models/tiny.yaml --vary h=1..8..x2 --vary d_ff=16..64..16 --zip --columns=parameters,flops --front=parameters,flops --sort=flops
0 sweep models/tiny.yaml --vary=-p=4,8 --vary n=1,200 --vary dtype=f32,bf16 --columns=weights,flops
0 sweep models/tiny.yaml --vary masking.decoder=causal,[causal,{"window":4}] --columns=flops,masking.decoder
