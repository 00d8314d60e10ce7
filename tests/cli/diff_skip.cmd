1 diff tests/cli/small.yaml --skip=fuse-attention --set norm.place=pre --march=x86-64-v3 --no-records
