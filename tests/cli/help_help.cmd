0 help help
0 help version
