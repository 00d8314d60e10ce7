model.c
model.h
model.weights
