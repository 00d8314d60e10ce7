0 sweep models/tiny.yaml --vary N=1,2 --vary d_ff=32,64,128 --columns=flops --svg=-
