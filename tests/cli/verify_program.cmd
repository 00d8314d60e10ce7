3 verify compiler/main.c
