/* loss.h: the loss from storing weights in fewer bits: of each matrix against
 * its f32 numbers, and of a model's results on a text against the f32 model's.
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
    const char *key;      /* the matrix's key in the spec's `dtype` */
    int readers;          /* number of nodes that read it, as in Node.readers */
    const PackItem *item; /* the packed matrix: rows, columns and dtype */
    double squares;       /* sum of the squares of its weights */
    double lost;          /* sum of the squares of its rounding errors */
} Matrix;

typedef struct {
    Arena *arena;
    VEC(Matrix) at; /* matrices in the order of the graph */
} Matrices;

/* Lists the matrices of an engine with a plan, including matrices in f32. A
 * matrix shared by several layers is listed once. */
void matrices_of(Matrices *to, const Engine *e);
/* Measures each matrix's rounding errors, using the packer's own functions. */
void matrices_measure(Matrices *m, const Engine *e);
/* Returns the bytes of a matrix stored as `stored`, without padding. */
int64_t matrix_bytes(const Matrix *m, Dtype stored);
/* Returns the root mean square of the errors divided by that of the weights; 0
 * if all weights are zero. */
double relative_error(double lost, double squares);
double error_decibels(double relative);
/* Returns the YAML value of the spec's `dtype` that stores matrix i as
 * dtype[i]: `default_dtype` and its exceptions. Matrices whose names share a
 * prefix and that have the same format share a line. */
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
    LossTokens, /* models that generate: distributions of the next token */
    LossLabels, /* heads that classify sequences or tokens */
    LossRows    /* rows of real numbers */
} LossKind;

typedef struct { /* means over all rows */
    LossKind kind;
    int64_t rows;
    double divergence;    /* KL(f32 || stored) in nats; 0 for LossRows */
    double perplexity[2]; /* [0] with f32 weights, [1] with stored weights; 1
                           * unless LossTokens */
    double flips;         /* share of rows whose largest element is at another
                             index */
    double cosine, least_cosine;
    double error; /* root mean square of errors / that of the f32 results */
} Loss;

/* Compares the results of `e` with those of `f32`; both engines are open and
 * have the same spec. Returns false if a result of `f32` is not finite. If a
 * result of `e` is not finite, the loss is not finite either. */
bool text_loss(Loss *to, const Engine *f32, const Engine *e,
               const Passages *text, Fault *why);
/* Returns the loss that a limit applies to, as a fraction: the increase of
 * perplexity, or the error for LossRows; INFINITY if it is not finite. */
double loss_share(const Loss *l);

/* ---- mixed_bits.c ---- */
typedef struct { /* a model in which some matrices have more bits */
    Loss loss;
    const char *dtype; /* dtype for its spec */
    int raised;        /* number of matrices with more bits than in the spec */
    int tried;         /* number of models tried to find this one */
    int64_t bytes;     /* bytes of the packed weights */
} Kept;

/* Called after each model tried, with its dtype and its loss. */
typedef void (*KeepProgress)(const char *dtype, const Loss *l);

/* Finds formats for the matrices of `e` that keep loss_share() against `f32` at
 * or below `limit`. to->loss must hold the loss of `e`. Measures the loss of
 * each matrix alone, with all others in f32, then gives more bits to as few
 * matrices as possible, those with the most loss per byte first. The strings in
 * *to live in text->arena. Returns an exit code: ExitNegative if nothing short
 * of f32 for every matrix meets the limit. */
int keep_loss(Kept *to, const Engine *f32, const Engine *e, const Matrices *m,
              const Passages *text, double limit, KeepProgress on_step);
/* Opens a variant of a model that is already open, without repeating the
 * warnings. */
int open_variant(Engine *e, const EngineOptions *o);

#endif
