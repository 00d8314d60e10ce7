/* trial.h: a compiled model on trial. It runs whole batches in memory that is
 * full of NaN, and every value that it computed can be read back, so that it
 * can be compared with the oracle.                                          */
#ifndef ATTNC_TRIAL_H
#define ATTNC_TRIAL_H

#include "engine/engine.h"
#include "oracle/oracle.h"

/* Sequences, their rows one after another. side 0: source rows, or queries;
 * side 1: target rows, or keys.                                             */
typedef struct {
    int64_t sequences;
    const int32_t *start[2]; /* [sequences + 1] */
    const int32_t *ids[2];
    const int32_t *types; /* of the first side's; NULL: all 0 */
    const float *rows[3]; /* kind attention: query, key, value; of a
                             model that reads numbers, the first */
    int64_t prefix;       /* keys that all see, where a mask has it */
} Sample;

/* ---- sample.c ---- */

/* A sample for `s` with random ids or rows: sequence i has source_rows[i] and
 * target_rows[i] of them, bounded by what the model takes; queries that may see
 * near keys only, by twice the keys.                                        */
Sample *sample_random(Arena *a, const Spec *s, uint64_t seed, int64_t sequences,
                      const int64_t *source_rows, const int64_t *target_rows);
/* Sequence i of `x` alone. */
Sample *sample_one(Arena *a, const Spec *s, const Sample *x, int64_t i);
/* Which side of a sample the rows of the result are: one for each of its rows,
 * or, where they are pooled, for each sequence. Their number, the first one of
 * a sequence, and the floats of one.                                        */
int sample_side(const Spec *s);
int64_t result_first(const Spec *s, const Sample *x, int64_t sequence);
int64_t result_rows(const Spec *s, const Sample *x);
int64_t result_columns(const Spec *s);
/* The side that token types, or numbers in the place of tokens, are of. */
int input_side(const Spec *s);
/* The rows that a sequence may have, near what is asked for: `fix` may make
 * them constant. */
int64_t sample_rows(const Spec *s, Side side, int64_t rows);
/* Keys of one sequence that all of its rows see. */
int64_t sample_prefix(const Sample *x, int side, int64_t sequence);

/* ---- sample_file.c ---- */
typedef struct { /* a sample of one sequence; stays in place */
    Sample sample;
    int32_t start[2][2]; /* of the sample */
} SampleFile;
/* Ids, their types, rows of numbers and the prefix from a .safetensors file,
 * into the engine's arena.                                                  */
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
    /* Of a model with rows before those of a call, by `fix.past`: */
    Engine *any;   /* the same for any lengths, which computes them */
    Trial *before; /* its run, whose values these rows have */
};

/* Encodes and decodes. `chunk` rows of each sequence are decoded in one call,
 * the prefix at least in the first; 0: all. `out`:
 * [result_rows][result_columns].                                            */
void trial_run(Trial *t, const Engine *e, const Sample *x, int64_t chunk,
               float *out);
void trial_free(Trial *t);
/* One node's value for one sequence after a run with chunk 0 of an engine
 * with keep_all, row-major as the oracle has it. False: it is not kept, as
 * constants, inputs and the contents of pages are not. Integers of activations
 * come as the numbers that they stand for, which double has exactly.        */
bool trial_value(const Trial *t, int node, int64_t sequence, double *out);
/* The same, of n numbers, rounded. */
bool trial_floats(const Trial *t, int node, int64_t sequence, int64_t n,
                  float *out);

/* ---- oracle.c ---- */
typedef struct { /* an engine's weights in double */
    const Engine *engine;
    Arena *arena;
    bool f32;                /* those of bf16 as they were */
    const double **tensor;   /* by item of the plan's list; NULL: not yet */
    const Graph *g;          /* whose nodes ask for them */
    const double **constant; /* by node: all that is known beforehand */
    Index items;             /* of the plan's list, by name */
} Weights;
void weights_open(Weights *w, const Engine *e, const Graph *g);
/* The same without the rounding to bf16. */
void weights_open_f32(Weights *w, const Engine *e, const Graph *g);
void weights_close(Weights *w);

/* Makes `in` ready for one sequence; its values are allocated in `a`. */
void oracle_open(Interp *in, Arena *a, Weights *w, const Sample *x,
                 int64_t sequence);
/* Evaluates all entries; returns the result, row-major. */
const double *oracle_result(Interp *in);

#endif
