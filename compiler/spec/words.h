/* words.h: the words of the spec's fields, as enumerations; for spec.h, which
 * includes this file. */
#ifndef ATTNC_WORDS_H
#define ATTNC_WORDS_H

#include <stdbool.h>

typedef enum {
    KindEncoderDecoder,
    KindEncoder,
    KindDecoder,
    KindAttention
} ModelKind;
typedef enum {
    PosSinusoidal,
    PosLearned,
    PosNone,
    PosRotary,
    PosAlibi,
    PosRelative
} PosType;
/* term added to the score of query row i and key row j */
typedef enum { BiasNone, BiasAlibi, BiasRelative } BiasKind;
/* format of cached keys and values, as ATTN_CACHE_ */
typedef enum { StoreF32, StoreBf16, StoreInt8 } CacheStore;
typedef enum { LayoutInterleaved, LayoutHalves } PosLayout;
typedef enum {
    TrimNone,
    TrimTurns,
    TrimTexts,
    TrimAll
} ChatTrim; /* as ATTN_TRIM_ */
/* exponent of the base for pair i: 2i/d as in the paper, or i/(d/2-1) as in
 * tensor2tensor and OpenNMT */
typedef enum { ExponentPaper, ExponentTensor2tensor } PosExponent;
typedef enum {
    ScalingNone,
    ScalingDynamic,
    ScalingLlama3,
    ScalingYarn,
    ScalingLongrope
} PosScaling;
typedef enum { MixAttention, MixRecurrent, MixConvolution } MixType;
typedef enum { CellSimple, CellGru, CellLstm } CellType;
typedef enum { RecurTanh, RecurRelu } RecurAct; /* activation of simple cells */
typedef enum { ScanForward, ScanBackward, ScanBoth } Direction;
/* initial state of a decoder's scan */
typedef enum { StartZeros, StartSource } StartType;
typedef enum { NormLayer, NormRms } NormType;
typedef enum { PlacePost, PlacePre, PlaceInside, PlaceBoth } NormPlace;
typedef enum { ResidualAdd, ResidualNone } ResidualType;
/* learned factor of a sublayer's output rows: one number, or one per column */
typedef enum { LearnNone, LearnScalar, LearnColumns } ResidualLearned;
typedef enum {
#define SCORE(name, ...) Score##name,
#include "spec/fields/score_forms.h"
} ScoreType;
typedef struct { /* columns of score_forms.h */
    const char *word;
    bool vector;
    const char *title, *kernel, *formula, *plain_formula, *source, *plain,
        *plain_function;
} ScoreForm;
extern const ScoreForm score_form[];
typedef enum {
#define NORMALIZER(name, ...) Normalizer##name,
#include "spec/fields/score_forms.h"
    Normalizers
} Normalizer;
typedef struct {
    const char *word;
    const char *plain; /* NULL: a weight depends on all scores */
} NormalizerForm;
extern const NormalizerForm normalizer_form[Normalizers];
/* norm of queries and keys: over each head's columns, or over all columns */
typedef enum { QkNone, QkHeads, QkWidth, QkEach } NormQk;
typedef enum {
#define ACT(name, ...) Act##name,
#include "spec/fields/activations.h"
    ActCount
} Activation;
typedef struct {       /* words for an activation in specs */
    const char *plain; /* also used in dumps and names of kernels */
    const char *gated; /* NULL: there is no gated form */
    Activation other;  /* activation of the other factor in the gated form */
} ActText;
extern const ActText act_text[ActCount];
typedef enum {
    PoolNone,
    PoolMean,
    PoolClass,
    PoolLast,
    PoolMax,
    PoolSum
} PoolType;
typedef enum { EmbedScaleNone, EmbedScaleSqrt, EmbedScaleNumber } EmbedScale;
/* embeddings that a product projects to d_model: none, the sum of all, or only
 * token embeddings */
typedef enum { ProjectNone, ProjectSum, ProjectTokens } EmbedProject;
typedef enum { ParallelNone, ParallelShared, ParallelSeparate } Parallel;
typedef enum { FfnDense, FfnNone, FfnExperts } FfnType;
/* how the router's scores become gate weights: softmax over all experts before
 * the top_k are selected, softmax over the selected ones, or sigmoids */
typedef enum { RouteBefore, RouteAfter, RouteSigmoid } RouteSoftmax;
typedef enum { GroupMax, GroupPair } GroupScore;
typedef enum { InputTokens, InputReal } InputType;
/* output computed from the rows of the last layer */
typedef enum {
    HeadDefault, /* rows of an encoder, logits of a decoder */
    HeadRows,
    HeadLogits,
    HeadPool,
    HeadClassify,
    HeadTokenClassify
} HeadType;
/* the values of the ATTN_RULE_ and ATTN_PENALTY_ constants */
typedef enum { SearchExact, SearchRecorded } SearchRule;
typedef enum { PenaltyNone, PenaltyGnmt, PenaltyPower } PenaltyRule;
typedef enum { ProcessLogits, ProcessLogProbabilities } ProcessRule;
typedef enum { SplitCharacters, SplitSpaces } VocabSplit;
/* arithmetic of products with weights of fewer bits (arithmetic_reads()) */
typedef enum {
    ArithmeticF32,
    ArithmeticInt8,
    ArithmeticInt15,
    ArithmeticBf16Dp,
    ArithmeticBf16Amx,
    ArithmeticBf16x3,
    Arithmetics
} Arithmetic;

#endif
