/* trial.h: runs a compiled model on complete batches, in memory filled with
 * NaN. All values that the model computed can be read back and compared with
 * the oracle's. */
#ifndef ATTNC_TRIAL_H
#define ATTNC_TRIAL_H

#include "engine/engine.h"
#include "oracle/oracle.h"

/* Sequences with concatenated rows. Side 0 has source rows or queries, side 1
 * target rows or keys. */
typedef struct {
    int64_t sequences;
    const int32_t *start[2]; /* [sequences + 1], by side: first row of each
                              * sequence */
    const int32_t *ids[2];
    const int32_t *types; /* token types of the side input_side(); NULL: all
                           * 0 */
    const float *rows[3]; /* for `kind: attention` query, key and value; for
                           * numeric input, only rows[0] */
    int64_t prefix; /* number of keys that all rows see, because a mask has a
                     * prefix */
} Sample;

/* ---- sample.c ---- */

/* Returns a sample for `s` with random ids or rows. Sequence i has
 * source_rows[i] and target_rows[i] rows, limited by the model. If a mask lets
 * queries see only nearby keys, there are at most two queries per key. */
Sample *sample_random(Arena *a, const Spec *s, uint64_t seed, int64_t sequences,
                      const int64_t *source_rows, const int64_t *target_rows);
/* Returns sequence i of `x` as a sample with one sequence. */
Sample *sample_one(Arena *a, const Spec *s, const Sample *x, int64_t i);
/* Describe the result: the side that it has rows for (one per row, or one per
 * sequence if pooled), the first row of a sequence, the number of rows, and the
 * floats per row. */
int sample_side(const Spec *s);
int64_t result_first(const Spec *s, const Sample *x, int64_t sequence);
int64_t result_rows(const Spec *s, const Sample *x);
int64_t result_columns(const Spec *s);
/* Returns the side that token types or numeric inputs belong to. */
int input_side(const Spec *s);
/* Returns `rows` limited to a length that the model accepts. The spec's `fix`
 * may determine the length. */
int64_t sample_rows(const Spec *s, Side side, int64_t rows);
/* Returns the number of keys of the sequence that all of its rows see. */
int64_t sample_prefix(const Sample *x, int side, int64_t sequence);

/* ---- sample_file.c ---- */
typedef struct { /* A sample with one sequence. It must not be moved, because
                  * `sample` points into it. */
    Sample sample;
    int32_t start[2][2]; /* arrays that sample.start points to */
} SampleFile;
/* Reads token ids, token types, numeric rows and the prefix from a .safetensors
 * file. The sample is allocated in the engine's arena. */
bool sample_file_read(SampleFile *to, const Engine *e, const char *path,
                      Fault *why);

/* ---- trial.c ---- */
typedef struct Trial Trial;
struct Trial { /* set to {0} before the first run */
    const Engine *engine;
    const Sample *sample;
    void *work[3]; /* by Entry: the arena of its last call */
    float *output; /* of the last call of decode */
    void *cache_memory[2];
    struct attn_cache cache[2];
    /* If the spec's `fix.past` sets the number of rows before a call: */
    Engine *any;   /* a model compiled for any lengths, which computes these
                    * rows */
    Trial *before; /* run of `any`, which has the values of these rows */
};

/* Encodes, then decodes. Each call decodes `chunk` rows of each sequence,
 * except that the first decodes at least the prefix. chunk 0 decodes all rows
 * in one call. `out` has the shape [result_rows][result_columns]. */
void trial_run(Trial *t, const Engine *e, const Sample *x, int64_t chunk,
               float *out);
void trial_free(Trial *t);
/* Reads the value of one node for one sequence, row-major like the oracle's.
 * The run must have had chunk 0 and an engine with keep_all. Returns false if
 * the value is not stored, as for constants, inputs and cache pages. Quantised
 * activations are returned as the numbers they represent, exactly. */
bool trial_value(const Trial *t, int node, int64_t sequence, double *out);
/* Like trial_value(), for n numbers, rounded to float. */
bool trial_floats(const Trial *t, int node, int64_t sequence, int64_t n,
                  float *out);

/* ---- oracle.c ---- */
typedef struct { /* the weights of an engine, in double */
    const Engine *engine;
    Arena *arena;
    bool f32;              /* all weights are f32, not rounded to their dtype */
    const double **tensor; /* by item of the pack list; NULL until loaded */
    const Graph *g;        /* the graph whose nodes use the weights */
    const double **constant; /* by node: values that do not depend on the
                              * input */
    Index items;             /* items of the pack list by name */
} Weights;
void weights_open(Weights *w, const Engine *e, const Graph *g);
/* Like weights_open(), for f32 weights that are not rounded to their dtype. */
void weights_open_f32(Weights *w, const Engine *e, const Graph *g);
void weights_close(Weights *w);

/* Prepares `in` for the evaluation of one sequence; values are allocated in
 * `a`. */
void oracle_open(Interp *in, Arena *a, Weights *w, const Sample *x,
                 int64_t sequence);
/* Evaluates all entries. Returns the result of the last one, row-major. */
const double *oracle_result(Interp *in);

#endif
