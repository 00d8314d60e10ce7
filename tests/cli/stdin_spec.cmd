3 run - --ids --march=generic
0 run - --ids --prompt 3 -n 2 --march=generic
0 compile - -o TMP/x.c --march=generic
