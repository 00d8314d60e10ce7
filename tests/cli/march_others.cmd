0 compile models/tiny.yaml --march=aarch64 --quiet -o TMP/a.c
0 compile models/tiny.yaml --march=arm64 --quiet -o /dev/null
0 compile models/tiny.yaml --march=riscv64 --quiet -o TMP/r.c
0 compile models/tiny.yaml --march=cortex-m4 --quiet -o /dev/null
2 compile models/tiny.yaml --march=wasm32 --emit=obj
2 compile models/tiny.yaml --march=cortex-m85 --emit=c,so
2 run models/tiny.yaml --march=riscv64
2 bench models/tiny.yaml --march=cortex-m0plus
