/* merge.h: computes weights from several files: an adapter merged into a model,
 * or the mean of checkpoints. The output is f32, without integer tensors such
 * as tables of position ids. */
#ifndef ATTNC_IMPORT_MERGE_H
#define ATTNC_IMPORT_MERGE_H

#include "base/base.h"

typedef struct { /* how a model uses a tensor of its file */
    bool used;   /* the model reads a part of it */
    bool turned; /* a matrix stored as [in, out] */
    bool tied;   /* a table that several parts of the model share */
} TensorUse;

typedef struct {
    Arena *arena;
    const Safetensors *base; /* weights of the model */
    const TensorUse *use;    /* by tensor of `base` */
    const char *adapter;     /* folder of the adapter */
    const char *path;        /* file to write */
    const char *note;        /* out: a remedy, after an error; NULL: none */
} LoraMerge;

/* lora.c: merges an adapter into a model, W + scale B A (Hu et al. 2021,
 * section 4.1). Computes in double precision and rounds once. Rejects adapters
 * that compute anything else, and results that are not finite. */
bool merge_lora(LoraMerge *o, Fault *why);
/* average.c: writes the mean of n files that have the same tensors. Computes in
 * double precision and rounds once ("Attention Is All You Need", section
 * 6.1). Rejects values that are not finite. */
bool merge_mean(Arena *a, const Safetensors *const *file, int n,
                const char *path, Fault *why);

#endif
