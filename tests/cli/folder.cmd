0 run tests/families/llama --ids --quiet --prompt=3
0 run tests/families/texts/marian --quiet
0 run tests/families/gguf/gpt2-f16.gguf --ids --quiet --prompt=3
0 run tests/families/gpt2-bare --ids --prompt=3 -v --backend=jit --no-records --quiet
0 tokens tests/families/texts/bert
0 graph tests/families/gpt2-bare/ --stage=final
1 diff tests/families/llama tests/families/llama-3 --march=x86-64-v3
0 sweep tests/families/llama --vary=max_len=8..16..x2 --columns=parameters
0 compile tests/families/llama/ -o TMP/model.c --march=x86-64-v3
0 tensors tests/families/sentences-dense
