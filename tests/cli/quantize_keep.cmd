0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt --keep 0.1%
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt --keep=0.1 -v --format=json
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt --keep=5
1 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt --keep=0
1 quantize models/tiny.yaml --march=generic --no-records --threads=1 --set kind=encoder,N=1,dtype=bf16 --ids --text tests/cli/quantize_lines.txt --keep=0 --format=json
0 quantize models/tiny.yaml --march=generic --no-records --threads=1 --ids --set dtype.default=bf16,dtype.encoder=f32,dtype.decoder.0=f32 --text tests/cli/quantize_pairs.txt --keep=0.03 -v
