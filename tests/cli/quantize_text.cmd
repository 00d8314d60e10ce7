0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --ids --set dtype.default=bf16,dtype.encoder=f32,dtype.decoder=f32 --text tests/cli/quantize_pairs.txt
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --ids --set kind=decoder,dtype.decoder=bf16 --text tests/cli/quantize_lines.txt
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --set head.type=token_classify,head.classes=5 --text tests/cli/quantize_lines.txt --format=json
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --ids --text tests/cli/quantize_pairs.txt
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --ids --set dtype=int4 --set arithmetic=int8 --text tests/cli/quantize_pairs.txt
