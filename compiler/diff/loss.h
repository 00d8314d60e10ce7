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
    const char *key;      /* its key in the spec's dtype */
    int readers;          /* as in Node.readers */
    const PackItem *item; /* rows, k, dtype */
    double squares;       /* sum of the squares of its numbers */
    double lost;          /* sum of the squares of its errors */
} Matrix;

typedef struct {
    Arena *arena;
    VEC(Matrix) at; /* in the order of the graph */
} Matrices;

/* Lists the matrices of an engine with a plan, f32 ones too. Matrices shared by
 * layers come once. */
void matrices_of(Matrices *to, const Engine *e);
/* Measures the errors with the packer's own functions. */
void matrices_measure(Matrices *m, const Engine *e);
/* Returns the bytes of a matrix, without the padding of panels. */
int64_t matrix_bytes(const Matrix *m, Dtype stored);
/* Returns the root mean square of the errors over that of the numbers; 0 if all
 * are zero. */
double relative_error(double lost, double squares);
double error_decibels(double relative);
/* Returns as YAML the spec's dtype that stores each matrix as dtype[] says:
 * `default_dtype`, and exceptions. Names with a common beginning and format are
 * one line. */
const char *matrices_dtype(const Matrices *m, const Dtype *dtype,
                           Dtype default_dtype);

/* ---- text_loss.c ---- */
typedef struct { /* one sequence of a text */
    Sample sample;
    int64_t line;          /* its line in the text */
    int64_t first;         /* the result's row before target[0] */
    const int32_t *target; /* [n] tokens; NULL: the model generates none */
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
    double perplexity[2]; /* with f32, then as stored; 1 unless LossTokens */
    double flips;         /* share of rows whose largest number moved */
    double cosine, least_cosine;
    double error; /* relative, as for a matrix */
} Loss;

/* Compares `e` with `f32`: both are open and have the same spec. Returns false
 * if a result of f32 is not finite. If one of e is not, the loss is not finite
 * either. */
bool text_loss(Loss *to, const Engine *f32, const Engine *e,
               const Passages *text, Fault *why);
/* Returns the loss that a limit applies to, as a share of 1: the increase of
 * perplexity, or the error; INFINITY if not finite. */
double loss_share(const Loss *l);

/* ---- mixed_bits.c ---- */
typedef struct { /* a model with some matrices in more bits */
    Loss loss;
    const char *dtype; /* dtype for its spec */
    int raised;        /* matrices with more bits than the spec says */
    int tried;         /* models tried to find it */
    int64_t bytes;     /* size of its packed weights */
} Kept;

/* Called with each model tried: its dtype and its loss. */
typedef void (*KeepProgress)(const char *dtype, const Loss *l);

/* Finds formats for model `e` whose loss_share() against `f32` is at most
 * `limit`; to->loss is e's own loss. It measures each matrix's loss with all
 * others in f32, then raises those that lose most per byte, as few as possible.
 * Texts live in text->arena. Returns an exit code; ExitNegative if only all of
 * f32 would be enough. */
int keep_loss(Kept *to, const Engine *f32, const Engine *e, const Matrices *m,
              const Passages *text, double limit, KeepProgress on_step);
/* Opens a variant of an open model, without repeating its warnings. */
int open_variant(Engine *e, const EngineOptions *o);

#endif
