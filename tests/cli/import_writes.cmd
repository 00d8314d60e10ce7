2 import tests/families/llama -o tests/families/llama/config.json
2 plan tests/families/llama/ -o tests/families/llama/config.json
4 import tests/families/llama -o TMP/m.yaml --compile=TMP/none/m.c
