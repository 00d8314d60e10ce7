/* epilogue.h: what follows a product: y = act(sums + bias) + residual. Tasks,
 * emitted functions and tiles are named after it.                           */
#ifndef ATTNC_EPILOGUE_H
#define ATTNC_EPILOGUE_H

#include "base/base.h"
#include "spec/spec.h"

enum {
    EpBias = 1,
    EpAct = 2,
    EpResidual = 4,
    /* of a tile alone */
    EpAccumulate = 8, /* acc starts from C */
    EpAny = 16,       /* all of bias, residual, act decided at run time: the
                         prebuilt kernels of the JIT; NULL pointers: absent */
    EpPrefetch = 32,  /* prefetches the panels at `next` */
    EpPowers = 64,    /* of attention's scores: meanwhile those of rows that
                         wait become weights */
    EpRescale = 128   /* rows of C that it starts from are multiplied first */
};
typedef struct {
    int parts;
    Activation act; /* EpAct: which one */
    Dtype dtype;    /* of the product's weights */
    Arithmetic arithmetic;
    bool wide; /* int8 in copies of 16 bits, and so are the rows */
} Epilogue;
/* "_bf16_bias_relu_residual", "_int8_dot_wide"; "" of nothing. */
const char *epilogue_suffix(Arena *a, Epilogue ep);

#endif
