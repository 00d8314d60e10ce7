x.c
x.weights
