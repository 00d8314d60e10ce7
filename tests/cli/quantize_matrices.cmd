0 quantize models/tiny.yaml --set dtype.default=bf16,dtype.encoder=f32,dtype.decoder.0=f32
0 quantize models/tiny.yaml --set kind=encoder,N=1,dtype=bf16 --format=json
0 quantize models/tiny.yaml
0 quantize models/tiny.yaml --set dtype=int4
0 quantize models/tiny.yaml --set dtype.default=int8,dtype.encoder=int4 --format=json
