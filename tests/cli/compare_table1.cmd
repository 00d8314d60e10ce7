0 compare models/transformer-base.yaml --columns=complexity,operations,sequential,path,layer_flops --vary layers.mix=attention,window,recurrent,convolution,separable --vary p=16,128
0 compare models/llama-110m.yaml --columns=complexity,operations,sequential,path --vary layers.mix=attention,gru --vary p=8..32..x2 --format=md
0 compare models/tiny.yaml --columns=complexity,operations,sequential,path --vary N=1,2 --vary p=8,16 --format=csv
