2 sweep models/tiny.yaml --vary heads=1,2 --columns=parameters
2 sweep models/tiny.yaml --vary d_modle=1,2 --columns=parameters
2 sweep models/tiny.yaml --vary thread=1,2 --columns=parameters
2 sweep models/tiny.yaml --vary qqqqqq=1,2 --columns=parameters
2 sweep models/tiny.yaml --vary h --columns=parameters
2 sweep models/tiny.yaml --vary h= --columns=parameters
2 sweep models/tiny.yaml --vary =4 --columns=parameters
2 sweep models/tiny.yaml --vary h=4,,8 --columns=parameters
2 sweep models/tiny.yaml --vary h=4,4 --columns=parameters
2 sweep models/tiny.yaml --vary h=4,d_k=8 --columns=parameters
2 sweep models/tiny.yaml --vary N=6..2 --columns=parameters
2 sweep models/tiny.yaml --vary N=2..6..0 --columns=parameters
2 sweep models/tiny.yaml --vary N=0..6..x2 --columns=parameters
2 sweep models/tiny.yaml --vary h=1,2 --vary h=4 --columns=parameters
2 sweep models/tiny.yaml --vary h=1,2 --vary h.encoder=4 --columns=parameters
2 sweep models/tiny.yaml --set d_k=8,h=2 --vary h=4 --columns=parameters
2 sweep models/tiny.yaml -p 8 --vary p=4 --columns=parameters
2 sweep models/tiny.yaml --vary threads=0 --columns=parameters
2 sweep models/tiny.yaml --vary threads=many --columns=parameters
2 sweep models/tiny.yaml --vary h=1,2 --vary N=1..3 --zip --columns=parameters
2 sweep models/tiny.yaml --vary h=1..1000 --vary N=1..1000 --vary d_ff=1..1000 --columns=parameters
2 sweep models/tiny.yaml --vary h=1..9223372036854775807 --columns=parameters
2 sweep models/tiny.yaml --columns=parameter
2 sweep models/tiny.yaml --columns=qqqqqq
2 sweep models/tiny.yaml --columns=flops,flops
2 sweep models/tiny.yaml --columns=flops --sort=flops,weights
2 sweep models/tiny.yaml --columns=flops --front=flops
2 sweep models/tiny.yaml --columns=flops --front=flops,dtype
2 sweep - - --columns=flops
2 sweep --columns=flops
2 sweep models/tiny.yaml --predict --columns=latency
2 sweep models/tiny.yaml --columns=flops --axes=flops,weights
2 sweep models/tiny.yaml --vary h=1,2 --columns=flops --svg=no-such.svg --axes=h
2 sweep models/tiny.yaml --vary h=1,2 --columns=flops --svg=no-such.svg --axes=flops,weights,memory
2 sweep models/tiny.yaml --columns=flops --svg=no-such.svg --axes=flop,weights
2 sweep models/tiny.yaml --columns=flops --svg=no-such.svg
2 sweep models/tiny.yaml --vary h=1,2 --columns=flops --svg=no-such.svg --axes=dtype,flops
2 sweep models/tiny.yaml --vary dtype=f32,bf16 --columns=flops --svg=no-such.svg --axes=dtype,flops
2 sweep models/minilm.yaml --vary h=6,12 --svg=no-such.svg --axes=h,search
2 sweep models/tiny.yaml --vary h=1,2 --vary N=1..37 --columns=flops --svg=no-such.svg --axes=h,flops
4 sweep models/tiny.yaml --vary h=1,2 --columns=flops --svg=no-such/x.svg
