a.c
a.h
r.c
r.h
