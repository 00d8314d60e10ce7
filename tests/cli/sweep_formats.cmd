0 sweep models/tiny.yaml tests/spec/good.yaml --vary h=2,3 --columns=parameters,weights,dtype --format=csv
0 sweep models/tiny.yaml tests/spec/good.yaml --vary h=2,3 --columns=parameters,weights,dtype --format=json
0 sweep models/tiny.yaml tests/spec/good.yaml --vary h=2,3 --columns=parameters,weights,dtype --format=md
0 sweep models/tiny.yaml --vary masking.decoder=causal,[causal,{"window":4}] --columns=parameters --format=csv
0 sweep models/tiny.yaml --vary masking.decoder=causal,[causal,{"window":4}] --columns=parameters --format=json
0 sweep models/tiny.yaml --vary masking.decoder=causal,[causal,{"window":4}] --columns=parameters --format=md
