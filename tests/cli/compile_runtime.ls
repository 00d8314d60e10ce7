attn.c
attn.h
x.c
x.h
