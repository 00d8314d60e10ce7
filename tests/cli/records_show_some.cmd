records show tests/cli/records/mine.txt --op few
records show tests/cli/records/mine.txt --cpu 9000 --op matmul
records --records tests/cli/records/mine.txt --compiler tcc
