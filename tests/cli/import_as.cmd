2 import tests/families/llama --as=llama
2 import tests/families/llama --as=llama --check
2 import tests/families/llama --as=llama --unchecked --check=python3
2 import tests/families/llama --unchecked
2 import tests/families/llama --as=llama --unchecked --rules=llama.yaml
2 import tests/families/llama --as=llama --unchecked --lora=tests/families/lora
2 import tests/families/llama tests/families/llama --as=llama --unchecked --average
2 import tests/families/gguf/gpt2-f16.gguf --as=llama --unchecked
3 import tests/families/llama --as=qwen2 --unchecked -o TMP/m.yaml
