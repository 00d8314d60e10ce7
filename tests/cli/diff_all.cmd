1 diff tests/cli/small.yaml --set N=3 --set N.decoder=1 --march=x86-64-v3 --no-records --all
