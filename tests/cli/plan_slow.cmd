0 plan tests/cli/block.yaml --march=znver3 --no-records --set=dtype=bf16,arithmetic=bf16_dp
0 plan tests/cli/block.yaml --march=znver4 --no-records --set=dtype=bf16,arithmetic=bf16_dp
0 plan tests/cli/block.yaml --march=znver4 --no-records --set=arithmetic=bf16x3
0 plan tests/cli/block.yaml --march=sapphirerapids --no-records --set=arithmetic=bf16x3
