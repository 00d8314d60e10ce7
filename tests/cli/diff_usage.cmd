2 diff
2 diff tests/cli/small.yaml
2 diff - -
2 diff tests/cli/small.yaml tests/cli/one.yaml tests/cli/real.yaml
2 diff tests/cli/small.yaml --skip=fuse-atention
2 diff tests/cli/small.yaml --tile=6x64
2 diff tests/cli/small.yaml tests/cli/one.yaml --seed=1
4 diff tests/cli/small.yaml tests/cli/none.yaml
4 diff tests/cli/none.yaml tests/cli/small.yaml
4 diff tests/cli/small.yaml tests/cli
3 diff tests/cli/small.yaml --set h=3
3 diff tests/cli/small.yaml tests/spec/check-heads.yaml
