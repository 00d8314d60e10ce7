2 import
2 import a b
2 import --average a
2 import --average a b --lora=c
2 import a --lora=b -o -
2 import a --compile=m.c -o -
2 import a --check -o -
2 import a --embed
2 import a --allow-nan
2 import tests/families/gguf/gpt2-f16.gguf --check=python3 -o m.yaml
3 import tests/families/gguf/gpt2-f16.gguf --lora=tests/families/lora -o m.yaml
3 import tests/families/llama tests/families/mistral --average -o m.yaml
3 import tests/families/llama tests/families/llama-linear --average -o m.yaml
3 import tests/families/bert tests/families/bert-classify --average -o m.yaml
3 import tests/families/gpt2 tests/families/gguf/gpt2-f16.gguf --average -o m.yaml
3 import tests/families/llama tests/families/lora --average -o m.yaml
3 run tests/families/lora
