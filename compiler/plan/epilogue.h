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
    /* only of tiles: */
    EpAccumulate = 8, /* acc starts from C */
    EpAny = 16,       /* bias, residual and act are all decided at run time
                         (prebuilt kernels of the JIT); a NULL pointer:
                         absent */
    EpPrefetch = 32,  /* prefetches the panels at `next` */
    EpPowers = 64,    /* computes softmax weights of pending rows between the
                         FMAs of attention's scores */
    EpRescale = 128   /* multiplies rows of C before adding to them */
};
typedef struct {
    int parts;
    Activation act; /* EpAct: which one */
    Dtype dtype;    /* format of the weights */
    Arithmetic arithmetic;
    bool wide; /* int8 weights and rows are widened to 16 bits */
} Epilogue;
/* Returns e.g. "_bf16_bias_relu_residual" or "_int8_dot_wide"; "" if there is
 * nothing to name. */
const char *epilogue_suffix(Arena *a, Epilogue ep);

#endif
