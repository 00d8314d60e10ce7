0 graph models/attention.yaml --format=json
0 graph models/attention.yaml --format=json --explain -o TMP/x.json
0 graph models/stories260K.yaml --set N=1,masking=[causal,{"window":8}] --format=json --stage=built
