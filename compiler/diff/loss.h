/* loss.h: the loss that results from storing weights in fewer bits: for each
 * matrix, relative to its f32 weights; for the model's results on a text,
 * relative to those of the f32 model.
 *
 *   engine -> matrices (matrices.c)
 *   two engines, a text -> loss (text_loss.c)
 *   options, a text, a limit -> formats within the limit (mixed_bits.c) */
#ifndef ATTNC_LOSS_H
#define ATTNC_LOSS_H

#include "engine/engine.h"
#include "oracle/trial.h"

/* ---- matrices.c ---- */
typedef struct {
    const char *key;      /* key of the matrix in the spec's `dtype` */
    int readers;          /* number of nodes that read it, as in Node.readers */
    const PackItem *item; /* the packed matrix: rows, columns and dtype */
    double squares;       /* sum of the squares of its weights */
    double lost;          /* sum of the squares of its rounding errors */
} Matrix;

typedef struct {
    Arena *arena;
    VEC(Matrix) at; /* in the order of the graph */
} Matrices;

/* Lists the matrices of an engine with a plan, also those in f32. A matrix that
 * several layers share is listed once. */
void matrices_of(Matrices *to, const Engine *e);
/* Measures the rounding errors of each matrix, with the functions of the
 * packer. */
void matrices_measure(Matrices *m, const Engine *e);
/* Returns the matrix's `dtype`: f32 for one that is stored in bf16x2. */
Dtype matrix_dtype(const Matrix *m);
/* Returns the bytes of a matrix in the format `stored`, without padding. */
int64_t matrix_bytes(const Matrix *m, Dtype stored);
/* Returns the root mean square of the errors divided by that of the weights; 0
 * if all weights are zero. */
double relative_error(double lost, double squares);
double error_decibels(double relative);
/* Returns a value for the spec's `dtype`, as YAML, that stores each matrix i as
 * dtype[i]: `default_dtype` and exceptions. Matrices with the same prefix and
 * the same format share a line. */
const char *matrices_dtype(const Matrices *m, const Dtype *dtype,
                           Dtype default_dtype);

/* ---- text_loss.c ---- */
typedef struct { /* one sequence of a text */
    Sample sample;
    int64_t line;          /* number of its line in the text */
    int64_t first;         /* index of the result row that predicts target[0] */
    const int32_t *target; /* [n] tokens to predict; NULL: does not generate */
    int64_t n;
} Passage;

typedef struct {
    Arena *arena;
    VEC(Passage) at;
} Passages;

typedef enum {
    LossTokens, /* models that generate: distribution of the next token */
    LossLabels, /* heads that classify sequences or tokens */
    LossRows    /* rows of real numbers */
} LossKind;

typedef struct { /* means over all rows */
    LossKind kind;
    int64_t rows;
    double divergence;    /* KL(f32 || stored) in nats; 0 for LossRows */
    double perplexity[2]; /* [0]: with f32 weights; [1]: with stored weights;
                           * both 1 unless LossTokens */
    double flips;         /* fraction of rows with their largest element at
                           * another index */
    double cosine, least_cosine;
    double error; /* root mean square of errors / that of the f32 results */
} Loss;

/* Compares the results of `e` with those of `f32`. Both engines must be open
 * and have the same spec. Returns false if a result of `f32` is not finite. If
 * a result of `e` is not finite, neither is the loss. */
bool text_loss(Loss *to, const Engine *f32, const Engine *e,
               const Passages *text, Fault *why);
/* Returns the loss to which a limit applies, as a fraction: the increase in
 * perplexity or, for LossRows, the error. INFINITY if it is not finite. */
double loss_share(const Loss *l);

/* ---- mixed_bits.c ---- */
typedef struct { /* a model in which some matrices have more bits */
    Loss loss;
    const char *dtype; /* `dtype` for its spec */
    int raised;        /* number of matrices with more bits than in the spec */
    int tried;         /* number of models tried until this one was found */
    int64_t bytes;     /* bytes of the packed weights */
} Kept;

/* Called after each tried model, with its dtype and its loss. */
typedef void (*KeepProgress)(const char *dtype, const Loss *l);

/* Finds formats for the matrices of `e` with which loss_share() relative to
 * `f32` is at most `limit`. to->loss must be the loss of `e`. Measures the loss
 * of each matrix alone, with all others in f32. Then gives more bits to the
 * minimum number of matrices, starting with the largest loss per byte. The
 * strings in *to are allocated in text->arena. Returns an exit code:
 * ExitNegative if only f32 for every matrix is within the limit. */
int keep_loss(Kept *to, const Engine *f32, const Engine *e, const Matrices *m,
              const Passages *text, double limit, KeepProgress on_step);
/* Opens a variant of an open model without repeating warnings. */
int open_variant(Engine *e, const EngineOptions *o);

#endif
