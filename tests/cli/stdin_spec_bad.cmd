3 graph -
2 run - --set h=2 --ids
2 score - --set h=2
2 run - --set h=2 --attention TMP/x.svg
3 plan - --set weights=missing.safetensors --set h=2,extends=x.yaml
4 compile - --set h=2 --set vocab.file=missing.txt
