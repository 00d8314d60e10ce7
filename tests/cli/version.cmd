0 --version
0 -V
0 run -V
0 graph x.yaml --version
