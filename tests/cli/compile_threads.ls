m.c
m.h
