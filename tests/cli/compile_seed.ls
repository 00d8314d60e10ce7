alone
g2p.c
g2p.h
g2p.weights
small.c
small.h
small.weights
