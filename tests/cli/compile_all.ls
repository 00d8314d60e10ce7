g2p
g2p.c
g2p.h
g2p.o
g2p.so
g2p.weights
