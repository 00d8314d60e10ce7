0 sweep models/tiny.yaml --vary p=8,1024 --columns=flops,max_len.source
0 sweep models/tiny.yaml -p 100 -n 40 --vary kind=encoder,decoder,encoder-decoder --columns=flops
2 sweep models/tiny.yaml -p 100 --set max_len=16 --vary N=1,2 --columns=flops
0 compare models/tiny.yaml --vary p=8,64 --columns=complexity,operations
