small.c
small.h
small.o
