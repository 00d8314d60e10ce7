/* trial.h: runs a compiled model on whole batches in memory filled with NaN.
 * Every value it computed can be read back and compared with the oracle. */
#ifndef ATTNC_TRIAL_H
#define ATTNC_TRIAL_H

#include "engine/engine.h"
#include "oracle/oracle.h"

/* Sequences, with their rows concatenated. Side 0 holds source rows or queries,
 * side 1 target rows or keys. */
typedef struct {
    int64_t sequences;
    const int32_t *start[2]; /* [sequences + 1] */
    const int32_t *ids[2];
    const int32_t *types; /* token types of the first side; NULL: all 0 */
    const float *rows[3]; /* kind attention: query, key, value; a model with
                             numeric input uses only the first */
    int64_t prefix;       /* keys that all rows see, if a mask has it */
} Sample;

/* ---- sample.c ---- */

/* Makes a sample for `s` with random ids or rows. Sequence i has source_rows[i]
 * and target_rows[i] rows, limited by the model. If a mask lets queries see
 * only keys nearby, there are at most twice as many queries as keys. */
Sample *sample_random(Arena *a, const Spec *s, uint64_t seed, int64_t sequences,
                      const int64_t *source_rows, const int64_t *target_rows);
/* Returns sequence i of `x` as a sample of its own. */
Sample *sample_one(Arena *a, const Spec *s, const Sample *x, int64_t i);
/* Describe the result: the side whose rows it has (one row for each of them, or
 * one per sequence if pooled), the first row of a sequence, the number of rows,
 * and the floats per row. */
int sample_side(const Spec *s);
int64_t result_first(const Spec *s, const Sample *x, int64_t sequence);
int64_t result_rows(const Spec *s, const Sample *x);
int64_t result_columns(const Spec *s);
/* Returns the side that token types or numeric inputs belong to. */
int input_side(const Spec *s);
/* Limits `rows` to a length that a sequence may have; `fix` may make it
 * constant. */
int64_t sample_rows(const Spec *s, Side side, int64_t rows);
/* Returns the number of keys of a sequence that all of its rows see. */
int64_t sample_prefix(const Sample *x, int side, int64_t sequence);

/* ---- sample_file.c ---- */
typedef struct { /* a sample of one sequence; must not be moved, because
                    `sample` points into it */
    Sample sample;
    int32_t start[2][2]; /* row counts that `sample` points to */
} SampleFile;
/* Reads token ids, token types, numeric rows and the prefix from a .safetensors
 * file. They are allocated in the engine's arena. */
bool sample_file_read(SampleFile *to, const Engine *e, const char *path,
                      Fault *why);

/* ---- trial.c ---- */
typedef struct Trial Trial;
struct Trial { /* {0} before the first run */
    const Engine *engine;
    const Sample *sample;
    void *work[3]; /* by Entry: the arena of its last call */
    void *cache_memory[2];
    struct attn_cache cache[2];
    /* used if `fix.past` sets the number of rows before a call: */
    Engine *any;   /* computes these rows: takes any lengths */
    Trial *before; /* run of `any`, with these rows' values */
};

/* Encodes and decodes. One call decodes `chunk` rows of each sequence, and the
 * first call at least the prefix; 0 decodes all rows at once. `out` has the
 * shape [result_rows][result_columns]. */
void trial_run(Trial *t, const Engine *e, const Sample *x, int64_t chunk,
               float *out);
void trial_free(Trial *t);
/* Reads one node's value for one sequence, row-major like the oracle's, after a
 * run with chunk 0 of an engine that has keep_all. Returns false if the value
 * is not stored: constants, inputs, and cache pages are not. Quantised
 * activations are returned as the numbers they represent, which are exact in
 * double. */
bool trial_value(const Trial *t, int node, int64_t sequence, double *out);
/* Like trial_value(), for n numbers rounded to float. */
bool trial_floats(const Trial *t, int node, int64_t sequence, int64_t n,
                  float *out);

/* ---- oracle.c ---- */
typedef struct { /* an engine's weights in double */
    const Engine *engine;
    Arena *arena;
    bool f32;                /* bf16 weights are used unrounded */
    const double **tensor;   /* by item of the pack list; NULL until loaded */
    const Graph *g;          /* the graph whose nodes use the weights */
    const double **constant; /* by node: values known before any input */
    Index items;             /* items of the pack list by name */
} Weights;
void weights_open(Weights *w, const Engine *e, const Graph *g);
/* Like weights_open(), with unrounded f32 weights. */
void weights_open_f32(Weights *w, const Engine *e, const Graph *g);
void weights_close(Weights *w);

/* Prepares `in` for one sequence; its values are allocated in `a`. */
void oracle_open(Interp *in, Arena *a, Weights *w, const Sample *x,
                 int64_t sequence);
/* Evaluates all entries; returns the result, row-major. */
const double *oracle_result(Interp *in);

#endif
