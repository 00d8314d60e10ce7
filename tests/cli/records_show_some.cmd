0 records show tests/cli/records/mine.txt --op small_m
0 records show tests/cli/records/mine.txt --cpu 9000 --op matmul
0 records --records tests/cli/records/mine.txt --compiler tcc
