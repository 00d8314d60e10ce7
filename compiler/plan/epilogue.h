/* epilogue.h: the operations that follow a product: y = act(sums + bias) +
 * residual. The names of tasks, emitted functions and tiles contain the parts
 * of an epilogue. */
#ifndef ATTNC_EPILOGUE_H
#define ATTNC_EPILOGUE_H

#include "base/base.h"
#include "spec/spec.h"

enum {
    EpBias = 1,
    EpAct = 2,
    EpResidual = 4,
    /* only in tiles: */
    EpAccumulate = 8, /* sums start from the values in C */
    EpAny = 16,       /* bias, residual and activation are chosen at run
                         time; a NULL pointer leaves one out (prebuilt
                         kernels of the JIT) */
    EpPrefetch = 32,  /* prefetches the panels at `next` */
    EpPowers = 64,    /* computes softmax weights of pending rows between the
                         FMAs of attention's scores */
    EpRescale = 128,  /* multiplies the rows of C before adding to them */
    /* in products whose sums the ranks add, and in integer tiles: */
    EpSum = 256 /* leaves the sums as they are, integers as int32 */
};
typedef struct {
    int parts;
    Activation act; /* the activation, if EpAct is set */
    Dtype dtype;    /* format of the weights */
    Arithmetic arithmetic;
    bool wide; /* int8 weights are copied to 16 bits, rows too; or, with rows of
                * floats, to f32 */
} Epilogue;
/* Returns e.g. "_bf16_bias_relu_residual" or "_int8_dot_wide", or "" if no part
 * has a name. */
const char *epilogue_suffix(Arena *a, Epilogue ep);

#endif
