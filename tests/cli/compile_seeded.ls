small.c
small.h
