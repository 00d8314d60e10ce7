0 compile tests/cli/one.yaml -o TMP/a.so --quiet
0 compile tests/cli/one.yaml -o TMP/b.o --quiet
0 compile tests/cli/one.yaml -o TMP/c.c --quiet
0 compile tests/cli/one.yaml -o TMP/d.so --emit=c --quiet
0 compile tests/cli/one.yaml -o TMP/e.x --emit=c,obj --quiet
2 compile tests/cli/one.yaml -o TMP/f.so --plain
2 compile tests/cli/one.yaml -o TMP/g.so --march=riscv64
3 run TMP/a.so
3 run TMP/b.o
