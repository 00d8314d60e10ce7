/* loss.h: what is lost where weights are stored in fewer bits: each matrix
 * beside its f32 numbers, and a model's results of a text beside those of the
 * same model with f32 weights.
 *
 *   engine -> matrices (matrices.c)
 *   two engines, a text -> loss (text_loss.c)
 *   options, a text, a limit -> the formats that keep it (mixed_bits.c) */
#ifndef ATTNC_LOSS_H
#define ATTNC_LOSS_H

#include "engine/engine.h"
#include "oracle/trial.h"

/* ---- matrices.c ---- */
typedef struct {
    const char *key;      /* of it alone in the spec's dtype */
    int readers;          /* of it, as a Node has them */
    const PackItem *item; /* rows, k, dtype */
    double squares;       /* of its numbers, their sum; */
    double lost;          /* and of what is lost of them */
} Matrix;

typedef struct {
    Arena *arena;
    VEC(Matrix) at; /* in the order of the graph */
} Matrices;

/* Those of an engine with a plan, f32 ones too; what layers share comes once.
 */
void matrices_of(Matrices *to, const Engine *e);
/* Finds what is lost, by the packer's own functions. */
void matrices_measure(Matrices *m, const Engine *e);
/* Without the padding of panels. */
int64_t matrix_bytes(const Matrix *m, Dtype stored);
/* Root mean square of what is lost, over that of the numbers; 0 of zeros. */
double relative_error(double lost, double squares);
double error_decibels(double relative);
/* The dtype of a spec that stores each matrix as dtype[] has it, as YAML:
 * `default_dtype`, and what is not as that says; by beginnings of names where
 * all that begin so are alike. */
const char *matrices_dtype(const Matrices *m, const Dtype *dtype,
                           Dtype default_dtype);

/* ---- text_loss.c ---- */
typedef struct { /* of a text: one sequence */
    Sample sample;
    int64_t line;          /* where it stands */
    int64_t first;         /* row of the result that target[0] follows */
    const int32_t *target; /* [n] tokens; NULL: the model writes none */
    int64_t n;
} Passage;

typedef struct {
    Arena *arena;
    VEC(Passage) at;
} Passages;

typedef enum {
    LossTokens, /* of what generates: distributions of the next token */
    LossLabels, /* of heads that name a class, or a token */
    LossRows    /* rows of numbers */
} LossKind;

typedef struct { /* means over all rows */
    LossKind kind;
    int64_t rows;
    double divergence;    /* KL(f32 || as stored), nats; 0 of LossRows */
    double perplexity[2]; /* of f32, as stored; 1 of others than LossTokens */
    double flips;         /* share of rows with another largest number */
    double cosine, least_cosine;
    double error; /* relative, as that of a matrix */
} Loss;

/* Of `e` beside `f32`, both open, of one spec. False: a result of f32 is not
 * finite; where one of e is not, what comes of it is not either.             */
bool text_loss(Loss *to, const Engine *f32, const Engine *e,
               const Passages *text, Fault *why);
/* What a limit is for: the perplexity's increase, or the error; INFINITY
 * where it is not finite. As a share of 1.                                   */
double loss_share(const Loss *l);

/* ---- mixed_bits.c ---- */
typedef struct { /* a model, whose matrices may have more bits */
    Loss loss;
    const char *dtype; /* of its spec */
    int raised;        /* matrices in more bits than the spec says */
    int tried;         /* models that were made for it */
    int64_t bytes;     /* of its packed weights */
} Kept;

/* Called with each model that is tried: what is stored how, what came of it. */
typedef void (*KeepProgress)(const char *dtype, const Loss *l);

/* The model `e` beside `f32`, whose loss is to->loss, in formats of which
 * loss_share() is at most `limit`. What each matrix loses is measured with all
 * others in f32, and those that lose most a byte are raised first, no more of
 * them than it takes. Texts live in text->arena. An exit code; ExitNegative:
 * while any matrix has fewer bits than f32 it is more.                       */
int keep_loss(Kept *to, const Engine *f32, const Engine *e, const Matrices *m,
              const Passages *text, double limit, KeepProgress on_step);
/* Opens a variant of a model that is open: what is warned of was said.  */
int open_variant(Engine *e, const EngineOptions *o);

#endif
