2 quantize models/tiny.yaml --keep=1%
2 quantize models/tiny.yaml --text tests/cli/quantize_lines.txt --keep=1x
2 quantize models/tiny.yaml --text tests/cli/quantize_lines.txt --keep=-1
2 quantize models/tiny.yaml --text tests/cli/quantize_lines.txt --keep=101
4 quantize models/tiny.yaml --text tests/cli/nowhere.txt
3 quantize models/tiny.yaml --ids --text tests/cli/quantize_empty.txt
3 quantize models/tiny.yaml --ids --text tests/cli/quantize_bad.txt
3 quantize models/tiny.yaml --ids --set kind=encoder --text tests/cli/quantize_bad.txt
3 quantize models/tiny.yaml --text tests/cli/quantize_lines.txt
3 quantize models/attention.yaml --text tests/cli/quantize_lines.txt
3 quantize tests/cli/real.yaml --text tests/cli/quantize_lines.txt
