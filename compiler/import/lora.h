/* lora.h: the config of an adapter, shared by the files that merge it. */
#ifndef ATTNC_IMPORT_LORA_H
#define ATTNC_IMPORT_LORA_H

#include <jansson.h>

#include "import/merge.h"

typedef struct {
    Arena *arena;
    const char *path; /* path of adapter_config.json, for messages */
    const char *note; /* remedy for the last error; NULL: none */
    json_t *root;     /* owns the values below */
    double alpha;     /* lora_alpha, the numerator of the scale */
    int64_t rank;     /* r; 0: not given */
    bool by_root;     /* use_rslora: the scale is alpha / sqrt(r) instead of
                       * alpha / r */
} Adapter;

/* lora_config.c: reads adapter_config.json of a folder. Rejects adapters that
 * compute more than W + scale B A, or whose W is not that of the model. The
 * caller must call json_decref(l->root) even after a failure. */
bool adapter_read(Arena *a, Adapter *l, const char *folder, Fault *why);
/* Returns false after an error if the config has no update of this rank for
 * the module; else sets the scale of the product. */
bool adapter_scale(Adapter *l, const char *module, int64_t rank, double *scale,
                   Fault *why);
/* Returns true if the name is `module` or ends in ".module". */
bool names_module(const char *name, const char *module);

/* lora.c: removes the segments that peft adds to a tensor's or a module's name:
 * base_model.model. at the start, base_layer in a module that also has a
 * low-rank update, and modules_to_save in one that is replaced, with the
 * adapter's name. */
const char *adapter_name(Arena *a, const char *name);
/* Returns the index of the model's tensor for such a name, or -1. One of the
 * names may lack the first segment of the other, as a file of the bare model
 * does. */
int adapter_finds(const Safetensors *base, const char *name);
/* Returns true if two tensors have the same shape and values. */
bool same_values(const Tensor *x, const Tensor *y);

/* python_pattern.c: matches a regular expression of Python. */
typedef enum { PatternMissed, PatternFits, PatternUnknown } PatternResult;
/* Matches all of `text` or, with `tail`, what follows any of its dots. Returns
 * PatternUnknown if the pattern has a part that is not known to mean the same
 * in POSIX's extended syntax. */
PatternResult python_pattern(Arena *a, const char *pattern, bool tail,
                             const char *text);

#endif
