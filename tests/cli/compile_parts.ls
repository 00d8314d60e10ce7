x.c
x.h
