/* tiny, a Transformer in C, made by attnc 0.1.0
 * from the spec of hash a6cb321d19a50c29 by
 *     attnc compile tiny.yaml --march=x86-64-v3 --parts=model
 *
 * To compile this file (here model.c):
 *     cc -O2 -std=c11 -march=x86-64-v3 -c model.c
 * model.h declares the exported functions and has an example.
 *
 *          44,288  parameters
 *         181,248  bytes of packed weights
 *          85,120  bytes of arena for a call with one row
 *          54,720  FLOPs a token
 *
 * Tasks and their tilings (default):
 *     matmul    32x96 bias            mr=6 nr=16 k=64 prefetch=17 panels=1
 *     matmul    32x32 bias            mr=6 nr=16 k=64 prefetch=17 panels=1
 *     matmul    32x64 bias_relu       mr=6 nr=16 k=64 prefetch=17 panels=1
 *     matmul    64x32 bias            mr=6 nr=16 k=64 prefetch=17 panels=1
 *     matmul    32x64 bias            mr=6 nr=16 k=64 prefetch=17 panels=1
 *     matmul    32x48                 mr=6 nr=16 k=64 prefetch=17 panels=1
 *     attention 16x16                 mr=6 nr=16 prefetch=17 queries=48 keys=64
 *     attention 16x16 causal_paged    mr=6 nr=16 prefetch=17 queries=48 keys=64
 *     attention 16x16 paged           mr=6 nr=16 prefetch=17 queries=48 keys=64
 *     rows      32x32_32x64_64x32     rows=96
 *     rows      32x32_32x32           rows=96
 *     split     32x64x4 encode_decode work=1500000
 *
 * Kernels; tiles are rows x columns:
 *     tile_bias_prefetch 1x16 2x16 3x16 4x16 5x16 6x16
 *     tile_prefetch    1x16 2x16 3x16 4x16 5x16 6x16
 *     tile_accumulate_prefetch 1x16 2x16 3x16 4x16 5x16 6x16
 *     tile_bias_relu_prefetch 1x16 2x16 3x16 4x16 5x16 6x16
 *     others           embed_row large_product pack_keys pack_values
 *                      multiply_panels softmax_begin softmax_page softmax_end
 *                      add_norm_rows prefetch_keys softmax_chunk add_keys
 *                      copy_rows
 */
#if !defined __AVX2__ || !defined __FMA__
#error "made for x86-64-v3: compile with -march=x86-64-v3"
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __GNUC__
#define ATTN_API static __attribute__((unused))
#else
#define ATTN_API static
#endif

/* ------------------------------------------------------- sizes, weights --- */

enum {
    ENCODER_LAYERS = 2,
    DECODER_LAYERS = 2,
};

/* Addresses in model.weights. A matrix [n, k] is stored as
 * n / 16 consecutive panels of 16 rows; a panel has, for every k
 * in turn, the elements of its rows. */
struct encoder_layer {
    const float *self_attn_qkv;          /* [96, 32] in panels of 16 */
    const float *self_attn_qkv_bias;     /* [96] */
    const float *self_attn_o;            /* [32, 32] in panels of 16 */
    const float *self_attn_o_bias;       /* [32] */
    const float *norm1;                  /* [32] */
    const float *norm1_bias;             /* [32] */
    const float *ffn_w1;                 /* [64, 32] in panels of 16 */
    const float *ffn_w1_bias;            /* [64] */
    const float *ffn_w2;                 /* [32, 64] in panels of 16 */
    const float *ffn_w2_bias;            /* [32] */
    const float *norm2;                  /* [32] */
    const float *norm2_bias;             /* [32] */
};

struct cross_layer {
    const float *cross_attn_kv;          /* [64, 32] in panels of 16 */
    const float *cross_attn_kv_bias;     /* [64] */
};

struct decoder_layer {
    const float *self_attn_qkv;          /* [96, 32] in panels of 16 */
    const float *self_attn_qkv_bias;     /* [96] */
    const float *self_attn_o;            /* [32, 32] in panels of 16 */
    const float *self_attn_o_bias;       /* [32] */
    const float *norm1;                  /* [32] */
    const float *norm1_bias;             /* [32] */
    const float *cross_attn_q;           /* [32, 32] in panels of 16 */
    const float *cross_attn_q_bias;      /* [32] */
    const float *cross_attn_o;           /* [32, 32] in panels of 16 */
    const float *cross_attn_o_bias;      /* [32] */
    const float *norm3;                  /* [32] */
    const float *norm3_bias;             /* [32] */
    const float *ffn_w1;                 /* [64, 32] in panels of 16 */
    const float *ffn_w1_bias;            /* [64] */
    const float *ffn_w2;                 /* [32, 64] in panels of 16 */
    const float *ffn_w2_bias;            /* [32] */
    const float *norm2;                  /* [32] */
    const float *norm2_bias;             /* [32] */
};

struct weights {
    const float *target;                 /* [48, 32] in panels of 16 */
    const float *source_positions;       /* [16, 32] row by row */
    const float *target_positions;       /* [16, 32] row by row */
    struct encoder_layer encoder[ENCODER_LAYERS];
    struct cross_layer cross[DECODER_LAYERS];
    struct decoder_layer decoder[DECODER_LAYERS];
};

/* --------------------------------------------------- a call, its memory --- */

/* The header has comments on the public types. */

#ifndef ATTN_BATCH_2
#define ATTN_BATCH_2

enum {
    ATTN_PAGE = 64,
    ATTN_PANEL = 16,
    ATTN_SELF = 0,
    ATTN_CROSS = 1,
    ATTN_CACHES = 16
};

struct attn_parallel {
    int64_t parts;
    void *pool;
    void (*run)(void *pool, int64_t parts,
                void (*part)(void *arg, int64_t part, int64_t parts),
                void *arg);
    const struct attn_comm *comm;
};

struct attn_batch {
    int64_t sequences;
    int64_t rows;
    const int32_t *start;
    const int32_t *ids;
    const int32_t *past;
    const int32_t *select;
    int64_t selected;
    float *pool[ATTN_CACHES];
    const int32_t *pages[ATTN_CACHES];
    int64_t table[ATTN_CACHES];
    const int32_t *source;
    const int32_t *source_rows;
    int64_t pool_pages[ATTN_CACHES], sources;
    const int32_t *prefix;
    const int32_t *types;
    const float *input;
    const float *query, *key, *value;
    int64_t key_rows;
    const int32_t *key_start;
    float *output;
    const struct attn_parallel *parallel;
};

#endif

/* One call of encode(): its arguments, its current layer and rows, and the
 * address of each value in the arena. Values whose lifetimes do not
 * overlap may share memory. */
struct encode {
    const struct weights *w;
    const struct attn_batch *b;
    const void *layer_weights;
    float *cross;                    /* the same of a cross cache */
    float *x;                        /* 32 floats a row */
    float *self_attn_qkv;            /* 96 floats a row */
    float *self_attn_keys;           /* 2048 floats a page */
    float *self_attn_values;         /* 2048 floats a page */
    float *self_attn;                /* 32 floats a row */
    float *self_attn_o;              /* 3072 floats */
    float *norm1;                    /* 3072 floats */
    float *ffn_w1;                   /* 6144 floats */
    float *ffn_w2;                   /* 3072 floats */
    float *cross_attn_kv;            /* 64 floats a row */
    float *scratch;                  /* 4656 floats */
};

/* One call of decode(): its arguments, its current layer and rows, and the
 * address of each value in the arena. Values whose lifetimes do not
 * overlap may share memory. */
struct decode {
    const struct weights *w;
    const struct attn_batch *b;
    const void *layer_weights;
    float *self;                     /* this layer in page 0 of its cache */
    float *cross;                    /* the same of a cross cache */
    float *x;                        /* 32 floats a row */
    float *self_attn_qkv;            /* 96 floats a row */
    float *self_attn;                /* 32 floats a row */
    float *self_attn_o;              /* 3072 floats */
    float *cross_attn_q;             /* 32 floats a row */
    float *cross_attn;               /* 32 floats a row */
    float *cross_attn_o;             /* 3072 floats */
    float *norm3;                    /* 3072 floats */
    float *ffn_w1;                   /* 6144 floats */
    float *ffn_w2;                   /* 3072 floats */
    float *logits_selected;          /* 32 floats a row */
    float *logits_matmul;            /* 48 floats a row */
    float *scratch;                  /* 4656 floats */
};

/* ------------------------------------------------------- encode, decode --- */

static void encoder_source_input(const struct encode *c);
static void encoder_self_attn_qkv(const struct encode *c, int64_t row,
                                  int64_t rows);
static void encoder_self_attn_pages(const struct encode *c);
static void encoder_self_attn(const struct encode *c);
static void encoder_self_attn_o(const struct encode *c, int64_t row,
                                int64_t rows);
static void encoder_norm1(const struct encode *c, int64_t row, int64_t rows);
static void encoder_ffn_w1(const struct encode *c, int64_t rows);
static void encoder_ffn_w2(const struct encode *c, int64_t rows);
static void encoder_norm2(const struct encode *c, int64_t row, int64_t rows);
static void cross_attn_kv(const struct encode *c, int64_t row, int64_t rows);
static void cross_attn_pages(const struct encode *c);
static void decoder_target_input(const struct decode *c);
static void decoder_self_attn_qkv(const struct decode *c, int64_t row,
                                  int64_t rows);
static void decoder_self_attn_pages(const struct decode *c);
static void decoder_self_attn(const struct decode *c);
static void decoder_self_attn_o(const struct decode *c, int64_t row,
                                int64_t rows);
static void decoder_norm1(const struct decode *c, int64_t row, int64_t rows);
static void decoder_cross_attn_q(const struct decode *c, int64_t row,
                                 int64_t rows);
static void decoder_cross_attn(const struct decode *c);
static void decoder_cross_attn_o(const struct decode *c, int64_t row,
                                 int64_t rows);
static void decoder_norm3(const struct decode *c, int64_t row, int64_t rows);
static void decoder_ffn_w1(const struct decode *c, int64_t rows);
static void decoder_ffn_w2(const struct decode *c, int64_t rows);
static void decoder_norm2(const struct decode *c, int64_t row, int64_t rows);
static void decoder_logits_selected(const struct decode *c);
static void decoder_logits_matmul(const struct decode *c, int64_t row,
                                  int64_t rows);
static void decoder_output(const struct decode *c, int64_t row, int64_t rows);

static void encode_layout(struct encode *c, const void *bound,
                          const struct attn_batch *b, float *arena);
static void decode_layout(struct decode *c, const void *bound,
                          const struct attn_batch *b, float *arena);
static int64_t next_block(int64_t n, int64_t most);

/* Encodes all rows of all sequences. */
static void encode(const void *bound, const struct attn_batch *b, void *arena)
{
    struct encode c;

    encode_layout(&c, bound, b, arena);
    encoder_source_input(&c);
    for (int64_t l = 0; l < ENCODER_LAYERS; l++) {
        c.layer_weights = &c.w->encoder[l];
        encoder_self_attn_qkv(&c, 0, b->rows);
        encoder_self_attn_pages(&c);
        encoder_self_attn(&c);
        for (int64_t row = 0, rows; row < b->rows; row += rows) {
            rows = next_block(b->rows - row, 96);
            encoder_self_attn_o(&c, row, rows);
            encoder_norm1(&c, row, rows);
            encoder_ffn_w1(&c, rows);
            encoder_ffn_w2(&c, rows);
            encoder_norm2(&c, row, rows);
        }
    }
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        c.layer_weights = &c.w->cross[l];
        c.cross = b->pool[1] + l * 4096;
        cross_attn_kv(&c, 0, b->rows);
        cross_attn_pages(&c);
    }
}

/* Decodes the new rows of all sequences, which follow those in the
 * cache: a complete prompt, or one row. */
static void decode(const void *bound, const struct attn_batch *b, void *arena)
{
    struct decode c;

    decode_layout(&c, bound, b, arena);
    decoder_target_input(&c);
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        c.layer_weights = &c.w->decoder[l];
        c.self = b->pool[0] + l * 4096;
        c.cross = b->pool[1] + l * 4096;
        decoder_self_attn_qkv(&c, 0, b->rows);
        decoder_self_attn_pages(&c);
        decoder_self_attn(&c);
        for (int64_t row = 0, rows; row < b->rows; row += rows) {
            rows = next_block(b->rows - row, 96);
            decoder_self_attn_o(&c, row, rows);
            decoder_norm1(&c, row, rows);
            decoder_cross_attn_q(&c, row, rows);
        }
        decoder_cross_attn(&c);
        for (int64_t row = 0, rows; row < b->rows; row += rows) {
            rows = next_block(b->rows - row, 96);
            decoder_cross_attn_o(&c, row, rows);
            decoder_norm3(&c, row, rows);
            decoder_ffn_w1(&c, rows);
            decoder_ffn_w2(&c, rows);
            decoder_norm2(&c, row, rows);
        }
    }
    decoder_logits_selected(&c);
    decoder_logits_matmul(&c, 0, b->selected);
    decoder_output(&c, 0, b->selected);
}

/* -------------------------------------------------------------- kernels --- */

#if !defined ATTNC_FAST_MATH                                                   \
    && (defined __FAST_MATH__ || defined __ASSOCIATIVE_MATH__                  \
        || defined __RECIPROCAL_MATH__                                         \
        || (defined __FINITE_MATH_ONLY__ && __FINITE_MATH_ONLY__ > 0))
#error "-ffast-math and its parts change results and remove the check for \
overflow; leave them out, or define ATTNC_FAST_MATH"
#endif
/* Only explicit FMAs are fused, so that all compilers give the same bits. clang
 * has no macros for the parts of -ffast-math; pragmas turn off two of them. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#if !defined ATTNC_FAST_MATH && __clang_major__ >= 14
#pragma clang fp reassociate(off)
#endif
#if !defined ATTNC_FAST_MATH && __clang_major__ >= 18
#pragma clang fp reciprocal(off)
#endif
#elif defined __GNUC__
#pragma GCC optimize ("fp-contract=off")
#endif

static inline float fma1(float a, float b, float c)
{
    return fmaf(a, b, c);
}

enum { W = 8 };                  /* floats in a vector */

typedef float v __attribute__((vector_size(4 * W)));
typedef float v_any __attribute__((vector_size(4 * W), aligned(4)));
typedef int32_t v_int __attribute__((vector_size(4 * W)));
typedef uint32_t v_bits __attribute__((vector_size(4 * W)));
#define INLINE static inline __attribute__((always_inline))

INLINE v v_load(const float *p)
{
    return *(const v_any *)p;
}

INLINE v v_load_aligned(const float *p)
{
    return *(const v *)p;
}

INLINE void v_store(float *p, v x)
{
    *(v_any *)p = x;
}

/* Keeps a loop from being unrolled, because its sums fill all registers. */
#if defined __clang__
#define ROLLED _Pragma("clang loop unroll(disable)")
#else
#define ROLLED
#endif

/* Prefetches the cache line at p into L2. */
#if defined __GNUC__
#define v_prefetch(p) __builtin_prefetch(p, 0, 2)
#else
#define v_prefetch(p) ((void)(p))
#endif

/* Prefetches the cache line at p into L1. */
#if defined __GNUC__
#define v_prefetch_near(p) __builtin_prefetch(p, 0, 3)
#else
#define v_prefetch_near(p) ((void)(p))
#endif

INLINE v v_splat(float x)
{
    return (v){x, x, x, x, x, x, x, x};
}

/* Returns a b + c, rounded once. */
#if defined __has_builtin
#if __has_builtin(__builtin_elementwise_fma)
#define v_fma(a, b, c) __builtin_elementwise_fma(a, b, c)
#endif
#endif
#ifndef v_fma
INLINE v v_fma(v a, v b, v c)
{
    v r = c; /* without a value gcc may warn of it */
    for (int i = 0; i < W; i++)
        r[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return r;
}
#endif

/* Returns a > b ? a : b in each lane, so b if a is NaN. */
INLINE v v_max(v a, v b)
{
    const v_int larger = a > b;
    return (v)(((v_int)a & larger) | ((v_int)b & ~larger));
}

/* Returns 2^n of t = n + 127 + 1.5 * 2^23, n in -126 .. 127; 0 if n is -127. */
INLINE v v_power_of_2(v t)
{
    return (v)((v_bits)t << 23);
}

/* A quad is four floats at any address. */
typedef float quad __attribute__((vector_size(16), aligned(4)));

/* Transposes 4 numbers of 4 rows of x. Rows of y are 16 apart. */
INLINE void transpose_4x4(float *y, const float *x, int64_t ldx)
{
    const quad a = *(const quad *)x;
    const quad b = *(const quad *)(x + ldx);
    const quad c = *(const quad *)(x + 2 * ldx);
    const quad d = *(const quad *)(x + 3 * ldx);
    for (int64_t i = 0; i < 4; i++)
        *(quad *)(y + i * 16) = (quad){a[i], b[i], c[i], d[i]};
}

/* Returns the largest of 16 lanes, folded to four, then one. Vectors have four
 * lanes because a wider one would have to be split. */
typedef int32_t quad_int __attribute__((vector_size(16), aligned(4)));

INLINE quad quad_max(quad a, quad b)
{
    const quad_int larger = a > b;
    return (quad)(((quad_int)a & larger) | ((quad_int)b & ~larger));
}

INLINE float lane_max(const float *lane)
{
    const quad *q = (const quad *)lane;
    const quad a = quad_max(quad_max(q[0], q[1]), quad_max(q[2], q[3]));
    const float b = a[0] > a[1] ? a[0] : a[1];
    const float c = a[2] > a[3] ? a[2] : a[3];
    return b > c ? b : c;
}

/* Adds 16 lanes by a fixed tree, one half onto the other. */
static float lane_sum(float *lane)
{
    for (int64_t n = 8; n > 0; n /= 2)
        for (int64_t i = 0; i < n; i++)
            lane[i] += lane[i + n];
    return lane[0];
}

/* Returns the next 16 of the n elements at x; if fewer are left, a copy in pad,
 * filled up with `fill`. */
static inline const float *padded_16(float *pad, const float *x, int64_t n,
                                   float fill)
{
    if (n >= 16)
        return x;
    for (int64_t i = 0; i < 16; i++)
        pad[i] = i < n ? x[i] : fill;
    return pad;
}

static float row_sum(const float *x, int64_t d)
{
    float pad[16], lane[16];
    v sum[16 / W];
    for (int64_t i = 0; i < 16 / W; i++)
        sum[i] = v_splat(0.0f);
    for (int64_t j = 0; j < d; j += 16) {
        const float *p = padded_16(pad, x + j, d - j, 0.0f);
        for (int64_t i = 0; i < 16 / W; i++)
            sum[i] += v_load(p + i * W);
    }
    for (int64_t i = 0; i < 16 / W; i++)
        v_store(lane + i * W, sum[i]);
    return lane_sum(lane);
}

/* Returns the sum of (x - mean)^2. */
static float row_squares(const float *x, int64_t d, float mean)
{
    float pad[16], lane[16];
    v sum[16 / W];
    for (int64_t i = 0; i < 16 / W; i++)
        sum[i] = v_splat(0.0f);
    for (int64_t j = 0; j < d; j += 16) {
        const float *p = padded_16(pad, x + j, d - j, mean);
        for (int64_t i = 0; i < 16 / W; i++) {
            const v t = v_load(p + i * W) - v_splat(mean);
            sum[i] = v_fma(t, t, sum[i]);
        }
    }
    for (int64_t i = 0; i < 16 / W; i++)
        v_store(lane + i * W, sum[i]);
    return lane_sum(lane);
}

static void add_rows(float *y, int64_t ldy, const float *a, int64_t lda,
                     const float *b, int64_t ldb, int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(a + j) + v_load(b + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = a[j] + b[j];
        y += ldy;
        a += lda;
        b += ldb;
    }
}

static void copy_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      int64_t rows, int64_t d)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(x + j));
        for (int64_t j = vector_end; j < d; j++)
            y[j] = x[j];
        y += ldy;
        x += ldx;
    }
}

/* Applies layer normalisation [Ba et al. 2016, equation 4] to each row of x. A
 * second pass for the variance is accurate even if the mean is far from 0. beta
 * may be NULL. */
static void norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                      const float *gamma, const float *beta, int64_t rows,
                      int64_t d, float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        const float mean = row_sum(x, d) / (float)d;
        const float variance = row_squares(x, d, mean) / (float)d;
        const float scale = 1.0f / sqrtf(variance + eps);
        const int64_t vector_end = d / W * W;
        for (int64_t j = 0; j < vector_end; j += W) {
            const v t = (v_load(x + j) - v_splat(mean)) * v_splat(scale);
            v shift = v_splat(0.0f);
            if (beta)
                shift = v_load(beta + j);
            v_store(y + j, v_fma(t, v_load(gamma + j), shift));
        }
        for (int64_t j = vector_end; j < d; j++)
            y[j] = fma1((x[j] - mean) * scale, gamma[j], beta ? beta[j] : 0.0f);
        x += ldx;
        y += ldy;
    }
}

/* Computes LayerNorm(x + residual) [Vaswani et al. 2017, section 3.1]; each row
 * is normalised while it is in the L1 cache. y may be x or the residual. */
static void add_norm_rows(float *y, int64_t ldy, const float *x, int64_t ldx,
                          const float *residual, int64_t ldr,
                          const float *gamma, const float *beta, int64_t rows,
                          int64_t d, float eps)
{
    for (int64_t i = 0; i < rows; i++) {
        float *row = y + i * ldy;
        add_rows(row, ldy, x + i * ldx, ldx, residual + i * ldr, ldr, 1, d);
        norm_rows(row, ldy, row, ldy, gamma, beta, 1, d, eps);
    }
}

/* Computes scale times the embedding of a token, plus its position if not NULL
 * [Vaswani et al. 2017, sections 3.4 and 3.5]. Element k of the token lies at
 * table[k * step]: step is 1 in rows, 16 in the panels of a product. */
static void embed_row(float *y, const float *table, int64_t step, int64_t d,
                      float scale, const float *position)
{
    if (!position)
        for (int64_t k = 0; k < d; k++)
            y[k] = scale * table[k * step];
    else
        for (int64_t k = 0; k < d; k++)
            y[k] = fma1(scale, table[k * step], position[k]);
}

/* Returns max(0, x). NaN stays NaN and -0 stays -0, because v_max returns its
 * second operand unless the first is larger. */
INLINE v v_relu(v x)
{
    return v_max(v_splat(0.0f), x);
}

/* Stores keys at .. at + rows - 1 in their page of 64. In a panel of 16 keys
 * the d_k elements lie below each other, so that a tile can compute Q K^T. */
static void pack_keys(float *page, const float *x, int64_t ldx, int64_t rows,
                      int64_t d_k, int64_t at)
{
    const int64_t fours = d_k / 4 * 4;
    int64_t i = 0;
    at %= 64;
    while (i < rows) {
        const int64_t lane = (at + i) % 16;
        float *panel = page + (at + i - lane) * d_k;
        const float *row = x + i * ldx;
        if (lane % 4 == 0 && i + 4 <= rows) {
            for (int64_t k = 0; k < fours; k += 4)
                transpose_4x4(panel + k * 16 + lane, row + k, ldx);
            for (int64_t k = fours; k < d_k; k++)
                for (int64_t r = 0; r < 4; r++)
                    panel[k * 16 + lane + r] = row[r * ldx + k];
            i += 4;
        } else {
            for (int64_t k = 0; k < d_k; k++)
                panel[k * 16 + lane] = row[k];
            i++;
        }
    }
}

/* Stores rows of values from position `at` on in their page, whose panels have
 * 16 columns and 64 rows. Columns from d_v on are 0. */
static void pack_values(float *page, const float *x, int64_t ldx, int64_t rows,
                        int64_t d_v, int64_t at)
{
    float pad[16];
    at %= 64;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < d_v; j += 16) {
            float *to = page + j * 64 + (at + i) * 16;
            const float *p = padded_16(pad, x + i * ldx + j, d_v - j, 0.0f);
            for (int64_t l = 0; l < 16; l += W)
                v_store(to + l, v_load(p + l));
        }
}

/* Prefetches n keys of a page, and their values behind the page's keys. */
static void prefetch_keys(const float *k, int64_t n, int64_t d_k,
                          int64_t panels)
{
    const float *values = k + 64 * d_k;
    for (int64_t i = 0; i < (n + 15) / 16 * d_k; i++)
        v_prefetch(k + i * 16);
    for (int64_t i = 0; i < panels * 1024; i += 1024)
        for (int64_t j = 0; j < n; j++)
            v_prefetch(values + i + j * 16);
}

/* Begins an online softmax [Milakov and Gimelshein 2018] by chunks of 64 keys,
 * as in FlashAttention [Dao et al. 2022, algorithm 1]. A row has the maximum so
 * far, 16 lanes of the sum, and o, the sum of p v before division. */
static void softmax_begin(int64_t rows, float *max, float *sum, float *o,
                          int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++)
        max[i] = -INFINITY;
    for (int64_t i = 0; i < rows * 16; i++)
        sum[i] = 0.0f;
    for (int64_t i = 0; i < rows * ldo; i++)
        o[i] = 0.0f;
}

/* Returns 2^t within an ulp for t <= 127, and 0 below -126.5; NaN stays NaN.
 * With t = n + f, |f| <= 1/2, it computes 2^f as 1 + f P(f), P minimax. */
INLINE v v_exp2(v t)
{
    const v shift = v_splat(0x1.8000fep+23f);  /* rounds to n + 127 */
    t = v_max(v_splat(-127.0f), t);
    const v n = t + shift;
    const v f = t - (n - shift);
    v p = v_splat(0x1.41fbbcp-13f);
    p = v_fma(p, f, v_splat(0x1.5f3e52p-10f));
    p = v_fma(p, f, v_splat(0x1.3b2d4cp-7f));
    p = v_fma(p, f, v_splat(0x1.c6aee8p-5f));
    p = v_fma(p, f, v_splat(0x1.ebfbdcp-3f));
    p = v_fma(p, f, v_splat(0x1.62e43p-1f));
    p = v_fma(p, f, v_splat(1.0f));
    return p * v_power_of_2(n);
}

/* Returns the largest of `wide` scores, a multiple of 16; padding is -inf. */
static inline float chunk_max(const float *s, int64_t wide)
{
    float lane[16];
    for (int64_t i = 0; i < 16; i += W) {
        v top = v_load(s + i);
        for (int64_t j = 16; j < wide; j += 16)
            top = v_max(v_load(s + i + j), top);
        v_store(lane + i, top);
    }
    return lane_max(lane);
}

/* Rescales a row's sums from its old maximum to the new one, `top`. */
static inline void raise_max(float *restrict max, float top, float scale,
                             float *restrict sum, float *restrict o,
                             int64_t ldo)
{
    const v rescale = v_exp2((v_splat(*max) - v_splat(top)) * v_splat(scale));
    for (int64_t j = 0; j < ldo; j += W)
        v_store(o + j, v_load(o + j) * rescale);
    for (int64_t j = 0; j < 16; j += W)
        v_store(sum + j, v_load(sum + j) * rescale);
    *max = top;
}

/* Replaces the first `wide` of s by 2^(scale (s - max)) and adds these to the
 * 16 lanes of sum. */
static inline void chunk_exp(float *restrict s, int64_t wide, float max,
                             float scale, float *restrict sum)
{
    if (max == -INFINITY)        /* all are -inf: 0, not NaN */
        max = 0.0f;
    const v m = v_splat(max), by = v_splat(scale);
    for (int64_t i = 0; i < 16; i += W) {
        v p[4] = { v_exp2((v_load(s + i) - m) * by),
                   v_splat(0.0f), v_splat(0.0f), v_splat(0.0f) };
        v_store(s + i, p[0]);
        for (int64_t j = 1; j < wide / 16; j++) {
            p[j] = v_exp2((v_load(s + j * 16 + i) - m) * by);
            v_store(s + j * 16 + i, p[j]);
        }
        v_store(sum + i, v_load(sum + i) + ((p[0] + p[1]) + (p[2] + p[3])));
    }
}

/* Turns the first `wide` of 64 scores into weights 2^(scale (s - max)); keys
 * that a row does not see have -inf. All maxima come before all powers, so that
 * the powers of several rows overlap. Needs scale > 0. */
static inline void softmax_scores(float *restrict s, int64_t wide,
                                  int64_t rows, float scale,
                                  float *restrict max, float *restrict sum,
                                  float *restrict o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        const float top = chunk_max(s + i * 64, wide);
        if (top > max[i])
            raise_max(max + i, top, scale, sum + i * 16, o + i * ldo, ldo);
    }
    for (int64_t i = 0; i < rows; i++)
        chunk_exp(s + i * 64, wide, max[i], scale, sum + i * 16);
}

/* Calls softmax_scores(), with a constant width in the common cases. */
static void softmax_wide(float *restrict s, int64_t wide, int64_t rows,
                         float scale, float *restrict max, float *restrict sum,
                         float *restrict o, int64_t ldo)
{
    if (wide == 64)
        softmax_scores(s, 64, rows, scale, max, sum, o, ldo);
    else if (wide == 16)
        softmax_scores(s, 16, rows, scale, max, sum, o, ldo);
    else
        softmax_scores(s, wide, rows, scale, max, sum, o, ldo);
}

/* Turns scores into weights 2^(scale (s - max)) if all rows see the first
 * `keys` of a chunk. Other weights of the last 16 become 0. */
static void softmax_page(float *restrict s, int64_t rows, int64_t keys,
                         float scale, float *restrict max, float *restrict sum,
                         float *restrict o, int64_t ldo)
{
    const int64_t wide = (keys + 15) / 16 * 16;
    if (keys < wide)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = keys; j < wide; j++)
                s[i * 64 + j] = -INFINITY;
    softmax_wide(s, wide, rows, scale, max, sum, o, ldo);
}

/* Works like softmax_page() if row i sees keys from[i] .. to[i] - 1 of 64. */
static void softmax_chunk(float *restrict s, int64_t rows, const int64_t *from,
                          const int64_t *to, float scale, float *restrict max,
                          float *restrict sum, float *restrict o, int64_t ldo)
{
    int64_t wide = 16;
    for (int64_t i = 0; i < rows; i++)
        while (wide < 64 && wide < to[i])
            wide += 16;
    for (int64_t i = 0; i < rows; i++) {
        float *row = s + i * 64;
        int64_t j = 0;
        for (; j < wide && j < from[i]; j++)
            row[j] = -INFINITY;
        if (j < to[i])
            j = to[i];
        for (; j < wide; j++)
            row[j] = -INFINITY;
        for (; j < 64; j++)
            row[j] = 0.0f;
    }
    softmax_wide(s, wide, rows, scale, max, sum, o, ldo);
}

/* Adds p V of one row and a few keys to o. */
static void add_keys(const float *p, int64_t keys, const float *values,
                     int64_t panels, float *o)
{
    for (int64_t j = 0; j < panels; j++)
        for (int64_t l = 0; l < 16; l += W) {
            v sum = v_load(o + j * 16 + l);
            for (int64_t i = 0; i < keys; i++)
                sum = v_fma(v_splat(p[i]),
                            v_load(values + j * 1024 + i * 16 + l), sum);
            v_store(o + j * 16 + l, sum);
        }
}

/* Computes y = o / sum, or 0 for a row without keys. */
static void softmax_end(float *y, int64_t ldy, int64_t rows, int64_t d_v,
                        const float *sum, const float *o, int64_t ldo)
{
    for (int64_t i = 0; i < rows; i++) {
        float lane[16], inverse = 0.0f;
        for (int64_t j = 0; j < 16; j++)
            lane[j] = sum[j];
        const float total = lane_sum(lane);
        if (total != 0.0f)
            inverse = 1.0f / total;
        const int64_t vector_end = d_v / W * W;
        for (int64_t j = 0; j < vector_end; j += W)
            v_store(y + j, v_load(o + j) * v_splat(inverse));
        for (int64_t j = vector_end; j < d_v; j++)
            y[j] = o[j] * inverse;
        y += ldy;
        sum += 16;
        o += ldo;
    }
}

/* Tiles have at most these rows and vectors of columns. */
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#define EACH_VECTOR(DO) DO(0) DO(1)
enum { TileRows = 6, TileVectors = 2 };

/* A tile's sum[i][j] is vector j of row i. */
typedef v tile_sums[TileRows][TileVectors];
enum {                  /* a tile, besides its products, */
    TileBias = 1,       /* adds bias[nr] to each row */
    TileAct = 2,        /* applies its activation to each sum */
    TileResidual = 4,   /* adds the mr x nr numbers of r */
    TileAdd = 8,        /* adds to C */
    TileInt15 = 16,     /* multiplies integers of 15 bits, not of 8 */
    TileApart = 32,     /* has panels of C, bias and r ldp apart, not 16 */
    TileNear = 64,      /* prefetches into L1, not L2, if it is low */
    TileSum = 128,      /* stores sums of integers, not floats */
    TilePrefetch = 256  /* n times this: prefetches the panels at next if it
                           has n rows or more */
};
struct tile_operands {
    const void *a;      /* rows, lda numbers apart */
    int64_t lda;
    const void *b;      /* panels, ldb numbers apart */
    int64_t ldb;
    int64_t k;          /* length of the sums */
    const void *next;   /* to prefetch; `ahead` numbers a line of a panel */
    int64_t ahead;
};

/* Computes C = act(A B + bias) + r for mr rows of A and nr columns of B, whose
 * panels are ldb apart. Each output is summed over k in order, in a lane of its
 * own, so every tile gives the same bits. All tiles have the same parameters;
 * prebuilt ones read the activation's number. */
#define TILE(name, mr, nr, products, does, act)                                \
    static void name(const void *a, int64_t lda, const void *b, int64_t ldb,   \
                     int64_t k, float *c, int64_t ldc, const float *bias,      \
                     const float *r, int64_t ldr, int64_t number,              \
                     const void *next, int64_t ahead, int64_t ldp)             \
    {                                                                          \
        const struct tile_operands of = {a, lda, b, ldb, k, next, ahead};      \
        const int64_t panel = (does) & TileApart ? ldp : 16;                   \
        tile_sums sum;                                                         \
        tile_start(sum, mr, nr, does, c, ldc, panel);                          \
        products(sum, mr, nr, does, &of);                                      \
        tile_finish(sum, mr, nr, does, act, bias, r, ldr, panel);              \
        tile_store(sum, mr, nr, c, ldc, panel);                                \
        (void)number;                                                          \
    }

/* Returns the offset of vector j of a row whose panels are `panel` apart. */
INLINE int64_t vector_at(int64_t j, int64_t panel)
{
    return j * W / 16 * panel + j * W % 16;
}

INLINE void row_start(v *sum, int nr, int does, const float *c, int64_t ldp)
{
#define START(j)                                                               \
    if (nr > j * W)                                                            \
        sum[j] = does & TileAdd ? v_load(c + vector_at(j, ldp)) : v_splat(0.0f);
    EACH_VECTOR(START)
}

INLINE void tile_start(tile_sums sum, int mr, int nr, int does, const float *c,
                       int64_t ldc, int64_t ldp)
{
#define START_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_start(sum[i], nr, does, does & TileAdd ? c + i * ldc : c, ldp);
    EACH_ROW(START_ROW)
}

INLINE void line_fetch(int near, const char *line)
{
    if (near)
        v_prefetch_near(line);
    else
        v_prefetch(line);
}

/* Prefetches a line of each of two panels; more would slow down the products.
 * One row prefetches all panels, because it waits for memory anyway. Returns
 * the address of the next lines. */
INLINE const char *tile_fetch(int mr, int nr, int does, const char *next,
                              int64_t panel, int64_t ahead)
{
    const int near = does & TileNear && mr < 4;
    if (does < TilePrefetch || mr < does / TilePrefetch)
        return next;
    line_fetch(near, next);
    if (nr > 16)
        line_fetch(near, next + panel);
    if (nr > 32 && mr == 1)
        line_fetch(near, next + 2 * panel);
    if (nr > 48 && mr == 1)
        line_fetch(near, next + 3 * panel);
    return next + ahead;
}

INLINE void row_add(v *sum, int nr, v x, const v *w)
{
#define ADD(j)                                                                 \
    if (nr > j * W)                                                            \
        sum[j] = v_fma(x, w[j], sum[j]);
    EACH_VECTOR(ADD)
}

/* Adds a number of each row, lda apart, times vectors w. */
INLINE void rows_add(tile_sums sum, int mr, int nr, const float *a, int64_t lda,
                     const v *w)
{
#define ADD_ROW(i)                                                             \
    if (mr > i)                                                                \
        row_add(sum[i], nr, v_splat(a[i * lda]), w);
    EACH_ROW(ADD_ROW)
}

/* Returns the vector of a panel from index `at` on. */
typedef v tile_read(const void *b, int64_t at);

/* Adds the column of A at a times a line of each panel, which `read` reads. */
INLINE void float_step(tile_sums sum, int mr, int nr, tile_read *read,
                       const struct tile_operands *of, const float *a,
                       const void *b)
{
    v w[TileVectors];
#define READ(j)                                                                \
    if (nr > j * W)                                                            \
        w[j] = read(b, vector_at(j, of->ldb));
    EACH_VECTOR(READ)
    rows_add(sum, mr, nr, a, of->lda, w);
}

INLINE v f32_read(const void *b, int64_t at)
{
    return v_load_aligned((const float *)b + at);
}

INLINE void f32_products(tile_sums sum, int mr, int nr, int does,
                         const struct tile_operands *of)
{
    const float *b = (const float *)of->b, *const end = b + 16 * of->k;
    const char *next = (const char *)of->next;
    const float *a = (const float *)of->a;
    ROLLED
    for (; b < end; b += 16) { /* without a counter */
        next = tile_fetch(mr, nr, does, next, of->ldb * 4, of->ahead * 4);
        float_step(sum, mr, nr, f32_read, of, a++, b);
    }
}

/* Computes act(sums + bias) + r, each part if the tile has it. */
typedef v activation(v x);
INLINE void row_finish(v *sum, int nr, int does, activation *act, const v *bias,
                       const float *r, int64_t at, int64_t ldp)
{
#define FINISH(j)                                                              \
    if (nr > j * W && does & TileBias)                                         \
        sum[j] += bias[j];                                                     \
    if (nr > j * W && does & TileAct)                                          \
        sum[j] = act(sum[j]);                                                  \
    if (nr > j * W && does & TileResidual)                                     \
        sum[j] += v_load(r + at + vector_at(j, ldp));
    EACH_VECTOR(FINISH)
}

INLINE void tile_finish(tile_sums sum, int mr, int nr, int does,
                        activation *act, const float *bias, const float *r,
                        int64_t ldr, int64_t ldp)
{
    v offset[TileVectors];
#define OFFSET(j)                                                              \
    if (nr > j * W && does & TileBias)                                         \
        offset[j] = v_load(bias + vector_at(j, ldp));
    EACH_VECTOR(OFFSET)
#define FINISH_ROW(i)                                                          \
    if (mr > i)                                                                \
        row_finish(sum[i], nr, does, act, offset, r, i * ldr, ldp);
    EACH_ROW(FINISH_ROW)
}

INLINE void row_store(const v *sum, int nr, float *c, int64_t ldp)
{
#define STORE(j)                                                               \
    if (nr > j * W)                                                            \
        v_store(c + vector_at(j, ldp), sum[j]);
    EACH_VECTOR(STORE)
}

INLINE void tile_store(tile_sums sum, int mr, int nr, float *c, int64_t ldc,
                       int64_t ldp)
{
#define STORE_ROW(i)                                                           \
    if (mr > i)                                                                \
        row_store(sum[i], nr, c + i * ldc, ldp);
    EACH_ROW(STORE_ROW)
}

struct shape {                 /* shape and tiling of a product */
    int64_t kind;              /* index of prebuilt tiles, tiles[kind] */
    int64_t x_bytes, bytes;    /* size of a number of x, of a weight */
    int64_t k;                 /* length of the sums */
    int64_t column;            /* weights of a column in a panel */
    int64_t mr, nr;            /* height and width of the largest tiles */
    int64_t line;              /* weights from a line of a panel to the next */
    int64_t fetch;             /* tiles that share the prefetch of two panels */
    int64_t step;              /* length of a block of the sums, */
    int64_t rows, columns;     /* and its rows and columns; 0: undivided */
    int64_t small_m;           /* fewer rows go to small_m_product() */
    int64_t streams;           /* panels that it reads at a time */
    int64_t small_m_fetch;     /* rows from which it prefetches the next */
    int64_t small_m_ahead;     /* bytes that fewer rows prefetch ahead */
    int64_t act;               /* Activation of spec/fields/activations.h */
    const struct shape *copied; /* by which copies are multiplied, or NULL: */
    void (*copy)(int8_t *to, const void *panel, int64_t k);
    int64_t row_bytes;         /* size of a copied row; 0: rows are not */
};

/* Tiles of a kind are of[panels - 1][rows - 1]. */
typedef void tile(const void *a, int64_t lda, const void *b, int64_t ldb,
                  int64_t k, float *c, int64_t ldc, const float *bias,
                  const float *r, int64_t ldr, int64_t act, const void *next,
                  int64_t ahead, int64_t ldp);

/* Multiplies all rows of a by nr columns, in tiles whose heights differ by at
 * most one, because a low tile takes as long to read the panels as a tall one.
 * They share the prefetch of the panels at `next`, two at a time. A single row
 * prefetches nothing: the hardware does, as fast as memory delivers. */
INLINE void rows_of_tiles(const struct shape *s, tile *const *of, int64_t nr,
                          int64_t rows, const char *a, int64_t lda,
                          const char *b, int64_t ldb, int64_t k, float *c,
                          int64_t ldc, const float *bias, const float *r,
                          int64_t ldr, int64_t act, const char *next)
{
    const int64_t pairs = nr > 32 ? 2 : 1;
    const int64_t panel = s->bytes > 1 ? 16 * k : ldb; /* of these k */
    const int64_t count = rows > s->mr ? (rows + s->mr - 1) / s->mr : rows > 0;
    const int64_t all = count > pairs ? count / pairs : 1;
    const int64_t share = all < s->fetch ? all : s->fetch;
    const int64_t fetch = rows > 1 ? share : 0;
    const int64_t ahead = fetch ? (s->line + share - 1) / share : s->line;
    int64_t i = 0;
    for (int64_t t = 0; t < count; t++) {
        const int64_t end = t < count - 1 ? rows * (t + 1) / count : rows;
        const int64_t pair = t % pairs, part = t / pairs;
        const char *soon = b;
        if (part < fetch)
            soon = next + (pair * 2 * ldb + panel * part / share) * s->bytes;
        of[end - i - 1](a + i * lda * s->x_bytes, lda, b, ldb, k, c + i * ldc,
                        ldc, bias, r ? r + i * ldr : 0, ldr, act, soon, ahead,
                        16);
        i = end;
    }
}

/* Returns the width of the next tile: nr, or less if `left` is less. */
static inline int64_t tile_width(int64_t nr, int64_t left)
{
    return left >= nr ? nr : left >= 32 && nr > 32 ? 32 : 16;
}

/* Computes c = a b or c += a b. b has `panels` panels of 16, ldb apart. */
INLINE void multiply_panels(const struct shape *s, tile *const *const *of,
                            int64_t rows, const float *a, int64_t lda,
                            const float *b, int64_t ldb, int64_t k,
                            int64_t panels, float *c, int64_t ldc,
                            const float *next)
{
    int64_t j = 0;
    while (j < panels) {
        const int64_t nr = tile_width(s->nr, (panels - j) * 16);
        rows_of_tiles(s, of[nr / 16 - 1], nr, rows, (const char *)a, lda,
                      (const char *)(b + j * ldb), ldb, k, c + j * 16, ldc,
                      0, 0, 0, 0, (const char *)(next + j * ldb));
        j += nr / 16;
    }
}

/* Multiplies panel by panel, by sums that are not divided into blocks. */
INLINE void large_product(const struct shape *s, tile *const *const *of,
                          int64_t rows, int64_t from, int64_t to, const void *x,
                          int64_t ldx, const void *w, float *y, int64_t ldy,
                          const float *bias, const float *r, int64_t ldr)
{
    const int64_t line = s->column * s->bytes;
    int64_t nr;
    for (int64_t j = from; j < to; j += nr) {
        const char *b = (const char *)w + j * line;
        nr = tile_width(s->nr, to - j);
        rows_of_tiles(s, of[nr / 16 - 1], nr, rows, (const char *)x, ldx, b,
                      16 * s->column, s->k, y + j, ldy, bias ? bias + j : 0,
                      r ? r + j : 0, ldr, s->act, b + nr * line);
    }
}

/* Each line defines tiles, and a table of them by rows - 1. */
#define TILES_1_TO_6(of, nr, products, does, act) \
    TILE(tile_1x##of, 1, nr, products, does, act) \
    TILE(tile_2x##of, 2, nr, products, does, act) \
    TILE(tile_3x##of, 3, nr, products, does, act) \
    TILE(tile_4x##of, 4, nr, products, does, act) \
    TILE(tile_5x##of, 5, nr, products, does, act) \
    TILE(tile_6x##of, 6, nr, products, does, act) \
    static tile *const tiles_##of[] = { \
        tile_1x##of, tile_2x##of, tile_3x##of, tile_4x##of, \
        tile_5x##of, tile_6x##of \
    };
TILES_1_TO_6(16_prefetch, 16, f32_products, 2 * TilePrefetch, 0)
TILES_1_TO_6(16_bias_prefetch, 16, f32_products, TileBias | 2 * TilePrefetch, 0)
TILES_1_TO_6(16_bias_relu_prefetch, 16, f32_products,
             TileBias | TileAct | 2 * TilePrefetch, v_relu)
TILES_1_TO_6(16_accumulate_prefetch, 16, f32_products,
             TileAdd | 2 * TilePrefetch, 0)

/* ---------------------------------- products and attention of one shape --- */

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* y = x W^T + b: x [rows, 32], W [96, 32] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_bias_32x96(int64_t rows, int64_t from, int64_t to,
                              const float *x, int64_t ldx, const float *w,
                              const float *b, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 32,
                                   .column = 32, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_bias_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, b, 0, 0);
}

struct keys {               /* keys and values of one head */
    const float *k, *v;     /* in the first page */
    int64_t k_page, v_page; /* floats from page to page */
    const int32_t *page;    /* page numbers in a cache, in order */
    int64_t count;          /* keys */
    int64_t past;           /* keys before the first query's */
    int64_t prefix;         /* keys that all queries see */
    const float *bias;      /* of scores; at distance 0 */
};

/* Computes c = a b. b has `count` panels of 16 columns, ldb apart.
 * Prefetches those at `next`. */
static void panels(int64_t rows, const float *a, int64_t lda, const float *b,
                   int64_t ldb, int64_t k, int64_t count, float *c, int64_t ldc,
                   const float *next)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .mr = 6, .nr = 16,
                                   .line = 16, .fetch = 16};
    static tile *const *const of[] = {tiles_16_prefetch};

    multiply_panels(&s, of, rows, a, lda, b, ldb, k, count, c, ldc, next);
}

/* Computes c += a b. b has `count` panels of 16 columns, ldb apart.
 * Prefetches those at `next`. */
static void panels_add(int64_t rows, const float *a, int64_t lda,
                       const float *b, int64_t ldb, int64_t k, int64_t count,
                       float *c, int64_t ldc, const float *next)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .mr = 6, .nr = 16,
                                   .line = 16, .fetch = 16};
    static tile *const *const of[] = {tiles_16_accumulate_prefetch};

    multiply_panels(&s, of, rows, a, lda, b, ldb, k, count, c, ldc, next);
}

/* y = softmax(Q K^T) V: one head, `rows` queries of 16, values of 16 */
static void attention_16x16(const float *q, int64_t ldq, int64_t rows,
                            const struct keys *m, float *y, int64_t ldy,
                            float *scratch)
{
    float *const s = scratch;
    float *const o = scratch + 48 * 64;
    float *const sum = scratch + 48 * 80;
    float *const maxima = scratch + 48 * 96;

    for (int64_t i = 0; i < rows; i += 48) {
        const int64_t r = min(rows - i, 48);
        const int64_t last = m->count;

        softmax_begin(r, maxima, sum, o, 16);
        for (int64_t at = 0; at < last; at += 64) {
            const int64_t n = min(last - at, 64);
            const float *k = m->k + (at / 64) * m->k_page;
            const float *v = m->v + (at / 64) * m->v_page;
            const float *next = k;

            if (at + 64 < last)
                next = m->k + (at / 64 + 1) * m->k_page;
            panels(r, q + i * ldq, ldq, k, 256, 16, (n + 15) / 16, s, 64, v);
            softmax_page(s, r, n, 0x1.715476p+0f, maxima, sum, o, 16);
            panels_add(r, s, 64, v, 1024, n, 1, o, 16, next);
        }
        softmax_end(y + i * ldy, ldy, r, 16, sum, o, 16);
    }
}

/* y = x W^T + b: x [rows, 32], W [32, 32] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_bias_32x32(int64_t rows, int64_t from, int64_t to,
                              const float *x, int64_t ldx, const float *w,
                              const float *b, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 32,
                                   .column = 32, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_bias_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, b, 0, 0);
}

/* y = relu(x W^T + b): x [rows, 32], W [64, 32] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_bias_relu_32x64(int64_t rows, int64_t from, int64_t to,
                                   const float *x, int64_t ldx, const float *w,
                                   const float *b, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 32,
                                   .column = 32, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_bias_relu_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, b, 0, 0);
}

/* y = x W^T + b: x [rows, 64], W [32, 64] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_bias_64x32(int64_t rows, int64_t from, int64_t to,
                              const float *x, int64_t ldx, const float *w,
                              const float *b, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 64,
                                   .column = 64, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_bias_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, b, 0, 0);
}

/* y = x W^T + b: x [rows, 32], W [64, 32] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_bias_32x64(int64_t rows, int64_t from, int64_t to,
                              const float *x, int64_t ldx, const float *w,
                              const float *b, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 32,
                                   .column = 32, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_bias_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, b, 0, 0);
}

/* Adds P V to o. Row i sees keys from[i] .. to[i] - 1 of the page. */
static void values_seen(int64_t rows, const float *p, const int64_t *from,
                        const int64_t *to, const float *v, int64_t panels,
                        float *o)
{
    int64_t first = 0, last = 64;   /* keys that all rows see */

    for (int64_t i = 0; i < rows; i++) {
        first = max(first, from[i]);
        last = min(last, to[i]);
    }
    if (last < first)
        last = first;
    for (int64_t i = 0; i < rows; i++)
        add_keys(p + i * 64 + from[i], min(first, to[i]) - from[i],
                 v + from[i] * 16, panels, o + i * panels * 16);
    if (last > first)
        panels_add(rows, p + first, 64, v + first * 16, 1024,
                   last - first, panels, o, panels * 16, v);
    for (int64_t i = 0; i < rows; i++)
        add_keys(p + i * 64 + last, to[i] - last, v + last * 16, panels,
                 o + i * panels * 16);
}

/* Attends to the page at `at` for r queries. Some do not see all of
 * its n keys. */
static void attention_16x16_causal_paged_edge(const float *q, int64_t ldq,
                                              int64_t r, int64_t p, int64_t at,
                                              int64_t n, const struct keys *m,
                                              float *s, float *maxima,
                                              float *sum, float *o)
{
    int64_t from[6], to[6];     /* keys that each row sees */
    int64_t first = n, end = 0;     /* keys that any row sees */
    const float *k = m->k + m->page[at / 64] * m->k_page;
    const float *v = m->v + m->page[at / 64] * m->v_page;

    for (int64_t j = 0; j < r; j++) {
        from[j] = 0;
        to[j] = min(min((p + j) + 1, m->count) - at, 64);
        if (from[j] < to[j]) {
            first = min(first, from[j]);
            end = max(end, to[j]);
        }
    }
    if (first >= end)
        return;
    first -= first % 16;
    panels(r, q, ldq, k + first * 16, 256, 16, (end - first + 15) / 16,
           s + first, 64, v);
    softmax_chunk(s, r, from, to, 0x1.715476p+0f, maxima, sum, o, 16);
    values_seen(r, s, from, to, v, 1, o);
}

/* y = softmax(Q K^T) V: one head, `rows` queries of 16, values of 16 */
static void attention_16x16_causal_paged(const float *q, int64_t ldq,
                                         int64_t rows, const struct keys *m,
                                         float *y, int64_t ldy, float *scratch)
{
    float *const s = scratch;
    float *const o = scratch + 48 * 64;
    float *const sum = scratch + 48 * 80;
    float *const maxima = scratch + 48 * 96;

    for (int64_t i = 0; i < rows; i += 48) {
        const int64_t r = min(rows - i, 48);
        const int64_t p = m->past + i;      /* position of row i */
        const int64_t last = min((p + r - 1) + 1, m->count);

        softmax_begin(r, maxima, sum, o, 16);
        for (int64_t at = 0; at < last; at += 64) {
            const int64_t n = min(last - at, 64);

            if (min(p + 1, m->count) < at + n) {
                for (int64_t j = 0; j < r; j += 6) {
                    attention_16x16_causal_paged_edge(q + (i + j) * ldq, ldq,
                                                      min(r - j, 6), p + j, at,
                                                      n, m, s, maxima + j,
                                                      sum + j * 16, o + j * 16);
                }
                continue;
            }
            const float *k = m->k + m->page[at / 64] * m->k_page;
            const float *v = m->v + m->page[at / 64] * m->v_page;
            const float *next = k;

            if (at + 64 < last)
                next = m->k + m->page[at / 64 + 1] * m->k_page;
            panels(r, q + i * ldq, ldq, k, 256, 16, (n + 15) / 16, s, 64, v);
            softmax_page(s, r, n, 0x1.715476p+0f, maxima, sum, o, 16);
            panels_add(r, s, 64, v, 1024, n, 1, o, 16, next);
        }
        softmax_end(y + i * ldy, ldy, r, 16, sum, o, 16);
    }
}

/* y = softmax(Q K^T) V: one head, `rows` queries of 16, values of 16 */
static void attention_16x16_paged(const float *q, int64_t ldq, int64_t rows,
                                  const struct keys *m, float *y, int64_t ldy,
                                  float *scratch)
{
    float *const s = scratch;
    float *const o = scratch + 48 * 64;
    float *const sum = scratch + 48 * 80;
    float *const maxima = scratch + 48 * 96;

    for (int64_t i = 0; i < rows; i += 48) {
        const int64_t r = min(rows - i, 48);
        const int64_t last = m->count;

        softmax_begin(r, maxima, sum, o, 16);
        for (int64_t at = 0; at < last; at += 64) {
            const int64_t n = min(last - at, 64);
            const float *k = m->k + m->page[at / 64] * m->k_page;
            const float *v = m->v + m->page[at / 64] * m->v_page;
            const float *next = k;

            if (at + 64 < last)
                next = m->k + m->page[at / 64 + 1] * m->k_page;
            panels(r, q + i * ldq, ldq, k, 256, 16, (n + 15) / 16, s, 64, v);
            softmax_page(s, r, n, 0x1.715476p+0f, maxima, sum, o, 16);
            panels_add(r, s, 64, v, 1024, n, 1, o, 16, next);
        }
        softmax_end(y + i * ldy, ldy, r, 16, sum, o, 16);
    }
}

/* y = x W^T: x [rows, 32], W [48, 32] in panels of 16;
 * columns from .. to - 1 of y */
static void matmul_32x48(int64_t rows, int64_t from, int64_t to, const float *x,
                         int64_t ldx, const float *w, float *y, int64_t ldy)
{
    static const struct shape s = {.x_bytes = 4, .bytes = 4, .k = 32,
                                   .column = 32, .mr = 6, .nr = 16, .line = 16,
                                   .fetch = 16};
    static tile *const *const of[] = {tiles_16_prefetch};

    large_product(&s, of, rows, from, to, x, ldx, w, y, ldy, 0, 0, 0);
}

/* --------------------------------------------------- steps of the model --- */

/* source_input = embed: f32[n, 32] */
static void encoder_source_input(const struct encode *c)
{
    const struct attn_batch *b = c->b;

    for (int64_t s = 0; s < b->sequences; s++) {
        for (int64_t i = b->start[s]; i < b->start[s + 1]; i++) {
            const int64_t id = b->ids[i];
            const int64_t at = i - b->start[s];

            embed_row(c->x + i * 32, c->w->target + id / 16 * 512 + id % 16, 16,
                      32, 0x1.6a09e6p+2f, c->w->source_positions + at * 32);
        }
    }
}

/* self_attn_qkv = linear: f32[n, 96] */
static void encoder_self_attn_qkv(const struct encode *c, int64_t row,
                                  int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    matmul_bias_32x96(rows, 0, 96, c->x + row * 32, 32, w->self_attn_qkv,
                      w->self_attn_qkv_bias, c->self_attn_qkv + row * 96, 96);
}

/* self_attn_keys = pack_kv: f32[2, n, 16]
 * self_attn_values = pack_kv: f32[2, n, 16] */
static void encoder_self_attn_pages(const struct encode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        int64_t at = 0;
        int64_t n;

        for (int64_t i = row; i < b->start[s + 1]; i += n) {
            const int64_t id = b->start[s] / 64 + s + at / 64;
            float *k = c->self_attn_keys + head * 1024
                       + id * 2048;
            float *v = c->self_attn_values + head * 1024
                       + id * 2048;

            n = min(64 - at % 64, b->start[s + 1] - i);
            pack_keys(k, c->self_attn_qkv + i * 96 + 32 + head * 16, 96, n, 16,
                      at);
            pack_values(v, c->self_attn_qkv + i * 96 + 64 + head * 16, 96, n,
                        16, at);
            at += n;
        }
    }
}

/* self_attn = attention: f32[n, 32] */
static void encoder_self_attn(const struct encode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        const int64_t first = b->start[s] / 64 + s;
        const struct keys m = {
            .k = c->self_attn_keys + head * 1024 + first * 2048,
            .v = c->self_attn_values + head * 1024 + first * 2048,
            .k_page = 2048,
            .v_page = 2048,
            .count = b->start[s + 1] - b->start[s],
        };
        attention_16x16(c->self_attn_qkv + row * 96 + head * 16, 96,
                        b->start[s + 1] - row, &m,
                        c->self_attn + row * 32 + head * 16, 32, c->scratch);
    }
}

/* self_attn_o = linear: f32[n, 32] */
static void encoder_self_attn_o(const struct encode *c, int64_t row,
                                int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    matmul_bias_32x32(rows, 0, 32, c->self_attn + row * 32, 32, w->self_attn_o,
                      w->self_attn_o_bias, c->self_attn_o, 32);
}

/* norm1 = add_norm: f32[n, 32] */
static void encoder_norm1(const struct encode *c, int64_t row, int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    add_norm_rows(c->norm1, 32, c->x + row * 32, 32, c->self_attn_o, 32,
                  w->norm1, w->norm1_bias, rows, 32, 0x1.0c6f7ap-20f);
}

/* ffn_w1 = linear: f32[n, 64] */
static void encoder_ffn_w1(const struct encode *c, int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    matmul_bias_relu_32x64(rows, 0, 64, c->norm1, 32, w->ffn_w1, w->ffn_w1_bias,
                           c->ffn_w1, 64);
}

/* ffn_w2 = linear: f32[n, 32] */
static void encoder_ffn_w2(const struct encode *c, int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    matmul_bias_64x32(rows, 0, 32, c->ffn_w1, 64, w->ffn_w2, w->ffn_w2_bias,
                      c->ffn_w2, 32);
}

/* norm2 = add_norm: f32[n, 32] */
static void encoder_norm2(const struct encode *c, int64_t row, int64_t rows)
{
    const struct encoder_layer *w = c->layer_weights;

    add_norm_rows(c->x + row * 32, 32, c->norm1, 32, c->ffn_w2, 32, w->norm2,
                  w->norm2_bias, rows, 32, 0x1.0c6f7ap-20f);
}

/* cross_attn_kv = linear: f32[n, 64] */
static void cross_attn_kv(const struct encode *c, int64_t row, int64_t rows)
{
    const struct cross_layer *w = c->layer_weights;

    matmul_bias_32x64(rows, 0, 64, c->x + row * 32, 32, w->cross_attn_kv,
                      w->cross_attn_kv_bias, c->cross_attn_kv + row * 64, 64);
}

/* cross_attn_keys = append: f32[2, n, 16]
 * cross_attn_values = append: f32[2, n, 16] */
static void cross_attn_pages(const struct encode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        const int32_t *page = b->pages[1] + s * b->table[1];
        int64_t at = 0;
        int64_t n;

        for (int64_t i = row; i < b->start[s + 1]; i += n) {
            const int64_t id = page[at / 64];
            float *k = c->cross + head * 2048
                       + id * 8192;
            float *v = c->cross + head * 2048 + 1024
                       + id * 8192;

            n = min(64 - at % 64, b->start[s + 1] - i);
            pack_keys(k, c->cross_attn_kv + i * 64 + head * 16, 64, n, 16, at);
            pack_values(v, c->cross_attn_kv + i * 64 + 32 + head * 16, 64, n,
                        16, at);
            at += n;
        }
    }
}

/* target_input = embed: f32[t, 32] */
static void decoder_target_input(const struct decode *c)
{
    const struct attn_batch *b = c->b;

    for (int64_t s = 0; s < b->sequences; s++) {
        for (int64_t i = b->start[s]; i < b->start[s + 1]; i++) {
            const int64_t id = b->ids[i];
            const int64_t at = b->past[s] + i - b->start[s];

            embed_row(c->x + i * 32, c->w->target + id / 16 * 512 + id % 16, 16,
                      32, 0x1.6a09e6p+2f, c->w->target_positions + at * 32);
        }
    }
}

/* self_attn_qkv = linear: f32[t, 96] */
static void decoder_self_attn_qkv(const struct decode *c, int64_t row,
                                  int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_32x96(rows, 0, 96, c->x + row * 32, 32, w->self_attn_qkv,
                      w->self_attn_qkv_bias, c->self_attn_qkv + row * 96, 96);
}

/* self_attn_keys = append: f32[2, p+t, 16]
 * self_attn_values = append: f32[2, p+t, 16] */
static void decoder_self_attn_pages(const struct decode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        const int32_t *page = b->pages[0] + s * b->table[0];
        int64_t at = b->past[s];
        int64_t n;

        for (int64_t i = row; i < b->start[s + 1]; i += n) {
            const int64_t id = page[at / 64];
            float *k = c->self + head * 2048
                       + id * 8192;
            float *v = c->self + head * 2048 + 1024
                       + id * 8192;

            n = min(64 - at % 64, b->start[s + 1] - i);
            pack_keys(k, c->self_attn_qkv + i * 96 + 32 + head * 16, 96, n, 16,
                      at);
            pack_values(v, c->self_attn_qkv + i * 96 + 64 + head * 16, 96, n,
                        16, at);
            at += n;
        }
    }
}

/* self_attn = attention: f32[t, 32] */
static void decoder_self_attn(const struct decode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        const struct keys m = {
            .k = c->self + head * 2048,
            .v = c->self + head * 2048 + 1024,
            .k_page = 8192,
            .v_page = 8192,
            .page = b->pages[0] + s * b->table[0],
            .count = b->past[s] + b->start[s + 1] - b->start[s],
            .past = b->past[s],
        };

        if (head < 1 && m.count > 0) {
            prefetch_keys(m.k + m.page[0] * m.k_page + 2048, min(m.count, 64),
                          16, 1);
        }
        attention_16x16_causal_paged(c->self_attn_qkv + row * 96 + head * 16,
                                     96, b->start[s + 1] - row, &m,
                                     c->self_attn + row * 32 + head * 16, 32,
                                     c->scratch);
    }
}

/* self_attn_o = linear: f32[t, 32] */
static void decoder_self_attn_o(const struct decode *c, int64_t row,
                                int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_32x32(rows, 0, 32, c->self_attn + row * 32, 32, w->self_attn_o,
                      w->self_attn_o_bias, c->self_attn_o, 32);
}

/* norm1 = add_norm: f32[t, 32] */
static void decoder_norm1(const struct decode *c, int64_t row, int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    add_norm_rows(c->x + row * 32, 32, c->x + row * 32, 32, c->self_attn_o, 32,
                  w->norm1, w->norm1_bias, rows, 32, 0x1.0c6f7ap-20f);
}

/* cross_attn_q = linear: f32[t, 32] */
static void decoder_cross_attn_q(const struct decode *c, int64_t row,
                                 int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_32x32(rows, 0, 32, c->x + row * 32, 32, w->cross_attn_q,
                      w->cross_attn_q_bias, c->cross_attn_q + row * 32, 32);
}

/* cross_attn = attention: f32[t, 32] */
static void decoder_cross_attn(const struct decode *c)
{
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = 0; task < tasks; task++) {
        const int64_t s = task / 2, head = task % 2;
        const int64_t row = b->start[s];
        int64_t end = s + 1;

        if (s > 0 && b->source[s] == b->source[s - 1])
            continue;                /* part of the block before */
        while (end < b->sequences && b->source[end] == b->source[s])
            end += 1;
        const struct keys m = {
            .k = c->cross + head * 2048,
            .v = c->cross + head * 2048 + 1024,
            .k_page = 8192,
            .v_page = 8192,
            .page = b->pages[1] + b->source[s] * b->table[1],
            .count = b->source_rows[b->source[s]],
        };

        if (head < 1 && m.count > 0) {
            prefetch_keys(m.k + m.page[0] * m.k_page + 2048, min(m.count, 64),
                          16, 1);
        }
        attention_16x16_paged(c->cross_attn_q + row * 32 + head * 16, 32,
                              b->start[end] - row, &m,
                              c->cross_attn + row * 32 + head * 16, 32,
                              c->scratch);
    }
}

/* cross_attn_o = linear: f32[t, 32] */
static void decoder_cross_attn_o(const struct decode *c, int64_t row,
                                 int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_32x32(rows, 0, 32, c->cross_attn + row * 32, 32,
                      w->cross_attn_o, w->cross_attn_o_bias, c->cross_attn_o,
                      32);
}

/* norm3 = add_norm: f32[t, 32] */
static void decoder_norm3(const struct decode *c, int64_t row, int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    add_norm_rows(c->norm3, 32, c->x + row * 32, 32, c->cross_attn_o, 32,
                  w->norm3, w->norm3_bias, rows, 32, 0x1.0c6f7ap-20f);
}

/* ffn_w1 = linear: f32[t, 64] */
static void decoder_ffn_w1(const struct decode *c, int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_relu_32x64(rows, 0, 64, c->norm3, 32, w->ffn_w1, w->ffn_w1_bias,
                           c->ffn_w1, 64);
}

/* ffn_w2 = linear: f32[t, 32] */
static void decoder_ffn_w2(const struct decode *c, int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    matmul_bias_64x32(rows, 0, 32, c->ffn_w1, 64, w->ffn_w2, w->ffn_w2_bias,
                      c->ffn_w2, 32);
}

/* norm2 = add_norm: f32[t, 32] */
static void decoder_norm2(const struct decode *c, int64_t row, int64_t rows)
{
    const struct decoder_layer *w = c->layer_weights;

    add_norm_rows(c->x + row * 32, 32, c->norm3, 32, c->ffn_w2, 32, w->norm2,
                  w->norm2_bias, rows, 32, 0x1.0c6f7ap-20f);
}

/* logits_selected = select: f32[r, 32] */
static void decoder_logits_selected(const struct decode *c)
{
    const struct attn_batch *b = c->b;

    for (int64_t i = 0; i < b->selected; i++) {
        copy_rows(c->logits_selected + i * 32, 0, c->x + b->select[i] * 32, 0,
                  1, 32);
    }
}

/* logits_matmul = matmul: f32[r, 48] */
static void decoder_logits_matmul(const struct decode *c, int64_t row,
                                  int64_t rows)
{
    matmul_32x48(rows, 0, 48, c->logits_selected + row * 32, 32, c->w->target,
                 c->logits_matmul + row * 48, 48);
}

/* output = output: f32[r, 48] */
static void decoder_output(const struct decode *c, int64_t row, int64_t rows)
{
    copy_rows(c->b->output + row * 48, 48, c->logits_matmul + row * 48, 48,
              rows, 48);
}

/* ----------------------------------------------------- places in memory --- */

/* Returns the rows of the next block of n rows. Blocks have at most `most`
 * rows, and equal heights because each of them reads all weights. */
static int64_t next_block(int64_t n, int64_t most)
{
    if (n <= most)
        return n;
    const int64_t blocks = (n + most - 1) / most;

    return (n + blocks - 1) / blocks;
}

/* Returns the bytes of the arena, with space to align it to 64. */
static int64_t arena_bytes(int64_t rows, int64_t sequences, int64_t parts)
{
    const int64_t encode_floats =
        rows * 224 + sequences * 4096 + 16944;
    const int64_t decode_floats =
        rows * 160 + 16944;

    (void)parts;
    return 4 * max(encode_floats, decode_floats) + 64;
}

static void encode_layout(struct encode *c, const void *bound,
                          const struct attn_batch *b, float *arena)
{
    const int64_t rows = b->rows;
    const int64_t sequences = b->sequences;
    c->w = bound;
    c->b = b;
    c->x = arena;
    c->self_attn_qkv = arena + rows * 32;
    c->self_attn_keys = arena + rows * 128;
    c->self_attn_values = arena + rows * 160 + sequences * 2048;
    c->self_attn = arena + rows * 192 + sequences * 4096;
    c->self_attn_o = arena + rows * 224 + sequences * 4096;
    c->norm1 = arena + rows * 224 + sequences * 4096;
    c->ffn_w1 = arena + rows * 224 + sequences * 4096 + 3072;
    c->ffn_w2 = arena + rows * 224 + sequences * 4096 + 9216;
    c->cross_attn_kv = arena + rows * 32;
    c->scratch = arena + rows * 224 + sequences * 4096 + 12288;
}

static void decode_layout(struct decode *c, const void *bound,
                          const struct attn_batch *b, float *arena)
{
    const int64_t rows = b->rows;
    c->w = bound;
    c->b = b;
    c->x = arena;
    c->self_attn_qkv = arena + rows * 32;
    c->self_attn = arena + rows * 128;
    c->self_attn_o = arena + rows * 160;
    c->cross_attn_q = arena + rows * 128;
    c->cross_attn = arena + rows * 32;
    c->cross_attn_o = arena + rows * 160;
    c->norm3 = arena + rows * 160;
    c->ffn_w1 = arena + rows * 160 + 3072;
    c->ffn_w2 = arena + rows * 160 + 9216;
    c->logits_selected = arena + rows * 128;
    c->logits_matmul = arena + rows * 32;
    c->scratch = arena + rows * 160 + 12288;
}

static void bind_weights(void *bound, const void *packed)
{
    struct weights *w = bound;
    const float *p = packed;

    w->target = p;
    w->source_positions = p + 1536;
    w->target_positions = p + 23360;
    for (int64_t l = 0; l < ENCODER_LAYERS; l++) {
        struct encoder_layer *x = &w->encoder[l];
        const float *q = p + l * 8544 + 2048;

        x->self_attn_qkv = q;
        x->self_attn_qkv_bias = q + 3072;
        x->self_attn_o = q + 3168;
        x->self_attn_o_bias = q + 4192;
        x->norm1 = q + 4224;
        x->norm1_bias = q + 4256;
        x->ffn_w1 = q + 4288;
        x->ffn_w1_bias = q + 6336;
        x->ffn_w2 = q + 6400;
        x->ffn_w2_bias = q + 8448;
        x->norm2 = q + 8480;
        x->norm2_bias = q + 8512;
    }
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        struct cross_layer *x = &w->cross[l];
        const float *q = p + l * 2112 + 19136;

        x->cross_attn_kv = q;
        x->cross_attn_kv_bias = q + 2048;
    }
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        struct decoder_layer *x = &w->decoder[l];
        const float *q = p + l * 10720 + 23872;

        x->self_attn_qkv = q;
        x->self_attn_qkv_bias = q + 3072;
        x->self_attn_o = q + 3168;
        x->self_attn_o_bias = q + 4192;
        x->norm1 = q + 4224;
        x->norm1_bias = q + 4256;
        x->cross_attn_q = q + 4288;
        x->cross_attn_q_bias = q + 5312;
        x->cross_attn_o = q + 5344;
        x->cross_attn_o_bias = q + 6368;
        x->norm3 = q + 6400;
        x->norm3_bias = q + 6432;
        x->ffn_w1 = q + 6464;
        x->ffn_w1_bias = q + 8512;
        x->ffn_w2 = q + 8576;
        x->ffn_w2_bias = q + 10624;
        x->norm2 = q + 10656;
        x->norm2_bias = q + 10688;
    }
}

/* ----------------------------------------------------- a compiled model --- */

#ifndef ATTN_MODEL_6
#define ATTN_MODEL_6

enum {
    ATTN_ENCODER_DECODER = 0,
    ATTN_ENCODER = 1,
    ATTN_DECODER = 2,
    ATTN_ATTENTION = 3
};

enum { ATTN_TASK_NONE, ATTN_TASK_QUERY, ATTN_TASK_DOCUMENT };

enum {
    ATTN_ERROR_ROOM = -1,
    ATTN_ERROR_UNKNOWN = -2,
    ATTN_ERROR_UTF8 = -3,
    ATTN_ERROR_NULL = -4,
    ATTN_ERROR_COUNT = -5,
    ATTN_ERROR_LENGTH = -6,
    ATTN_ERROR_TABLE = -7,
    ATTN_ERROR_ID = -8,
    ATTN_ERROR_OPTION = -9,
    ATTN_ERROR_KIND = -10,
    ATTN_ERROR_OPEN = -11,
    ATTN_ERROR_STATE = -12,
    ATTN_ERROR_ALIGNED = -13,
    ATTN_ERROR_FINITE = -14,
    ATTN_ERROR_PAIR = -15,
    ATTN_ERROR_FIXED = -16,
    ATTN_ERROR_RANKS = -17,
    ATTN_ERROR_GRAMMAR = -18
};
enum { ATTN_MOST = (1 << 29) - 1 };

enum { ATTN_CACHE_F32, ATTN_CACHE_BF16, ATTN_CACHE_INT8 };

struct attn_cache_layout {
    int64_t of;
    int64_t page_bytes;
    int64_t format;
    int64_t blocks, d_k, v_panels;
    int64_t window;
    int64_t states;
};

struct attn_search_options;
struct attn_texts;

struct attn_model {
    const char *name;
    int64_t kind;
    int64_t d_model, source_vocab, target_vocab;
    int64_t max_source, max_target;
    int64_t input_width;
    int64_t class_token;
    int64_t types;
    int64_t fixed_source, fixed_target, fixed_keys, fixed_batch;
    int64_t fixed_ranks;
    int64_t output_columns;
    int64_t output_pooled;
    int64_t weights_bytes;
    const char *dtype;
    uint64_t weights_hash;
    uint64_t spec_hash;
    const char *command;
    int64_t bound_bytes;
    int64_t caches;
    struct attn_cache_layout cache[ATTN_CACHES];
    int64_t (*arena_bytes)(int64_t rows, int64_t sequences, int64_t parts);
    void (*bind)(void *bound, const void *packed);
    void (*encode)(const void *bound, const struct attn_batch *, void *arena);
    void (*decode)(const void *bound, const struct attn_batch *, void *arena);
    float (*log_sum_exp)(const void *bound, const float *x, int64_t n);
    const char *(*target)(const void *bound);
    const void *(*embedded)(int64_t *bytes);
    void (*options)(struct attn_search_options *o);
    int64_t (*amx_allowed)(void);
    const struct attn_texts *texts;
};

#endif

/* -------------------------------------------------------- weights files --- */

/* memory.h: splits the caller's memory into arrays, and hashes memory. */

/* ---- memory.c ---- */

/* Lays out arrays in the caller's memory, each aligned to 64 bytes. If `base`
 * is NULL, only counts bytes, so that the same code computes sizes. */
struct attn_memory {
    char *base;
    int64_t used; /* bytes so far; -1: the size overflowed */
};
enum { ATTN_ALIGN = 64 };

/* packed.h: the file of packed weights and vocabularies. */

/* The header of model.weights. The file consists of one header page, the packed
 * weights, and the vocabularies, each aligned to 64 bytes. */
struct attn_packed_header {
    char magic[8];     /* "ATTNCW03" */
    uint64_t page;     /* hash of the rest of this page */
    uint64_t contents; /* hash of everything after the page; 0 in a file
                        * embedded in a program, which is not hashed */
    uint64_t hash;     /* weights_hash of the model */
    int64_t bytes;     /* size of the file */
    int64_t weights_at, weights_bytes;
    char dtype[8]; /* format of most matrices: "f32", ... */
    int64_t source_vocab_at, source_vocab_bytes; /* bytes 0: no vocabulary */
    int64_t target_vocab_at, target_vocab_bytes;
    char name[136];  /* the model's name */
    uint64_t random; /* 1 + the seed of random weights; 0: the weights came
                        from a file */
};
enum {
    ATTN_PACKED_PAGE = 4096,
    ATTN_PACKED_TEXT = 512 /* maximum bytes of a message */
};
ATTN_API uint64_t attn_packed_page(const void *file); /* returns the hash for
                                                         `page` */
/* Returns the weights in a checked file, or NULL if `file` is not a weights
 * file. */
ATTN_API const void *attn_packed_weights(const void *file);

/* text_task.h: what some models do to texts before they read them. A prompt
 * precedes a text. In late interaction a text is a query or a document: a token
 * follows its first one, tokens fill a query, and some tokens of a document
 * have no row. A pair of texts may become one text, with the model's texts
 * around the two. */

struct attn_task {       /* what becomes of a query, or of a document */
    int64_t length;      /* maximum tokens of a text; 0: any number */
    int64_t prefix;      /* token after the first one; -1: none */
    int64_t fill;        /* token that fills a text to `length`; -1: none */
    int attend;          /* 1: all rows attend to the tokens that fill it */
    int cut;             /* 1: longer texts are cut */
    const int32_t *skip; /* [skips] tokens without a row in the result */
    int64_t skips;
};
struct attn_pair_texts { /* the texts around a pair, in order; NULL: none. The
                          * first text of the pair follows `first`, the second
                          * one follows `second` */
    const char *begin, *prompt, *first, *second, *end;
};
struct attn_texts {                /* what a spec adds to texts */
    const struct attn_task *tasks; /* [3], by ATTN_TASK_NONE etc.; NULL: a task
                                    * only chooses the prompt */
    int fill_is_hidden;            /* 1: rows attend only to the tokens before
                                    * those that fill a query */
    const char *const *prompts;    /* names, each before its text, then NULL; or
                                    * NULL */
    const char *prompt;            /* name of the default prompt; NULL: none */
    struct attn_pair_texts pair;   /* `second` NULL: a pair takes the
                                    * vocabulary's template */
};

/* memory.c: lays out consecutive arrays in the caller's memory. */

/* Maximum number of bytes, far below INT64_MAX, so that a few sums of sizes
 * cannot overflow. */
static const int64_t memory_most = INT64_MAX / 16;

ATTN_API int64_t attn_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Starts at the first aligned byte of `memory`. attn_memory_bytes() includes
 * the bytes that this may skip. */
ATTN_API void attn_memory_open(struct attn_memory *m, void *memory)
{
    m->base = NULL;
    m->used = 0;
    if (memory) {
        uintptr_t past = (uintptr_t)memory % ATTN_ALIGN;
        m->base = (char *)memory;
        if (past > 0)
            m->base += ATTN_ALIGN - past;
    }
}

ATTN_API void *attn_take(struct attn_memory *m, int64_t count, int64_t size)
{
    int64_t at = m->used;
    if (at < 0)
        return NULL;
    if (count < 0 || size < 0
        || (size > 0 && count > (memory_most - at) / size)) {
        m->used = -1;
        return NULL;
    }
    m->used = (at + count * size + ATTN_ALIGN - 1) / ATTN_ALIGN * ATTN_ALIGN;
    return m->base ? m->base + at : NULL;
}

ATTN_API int64_t attn_memory_bytes(const struct attn_memory *m)
{
    return m->used < 0 ? -1 : m->used + ATTN_ALIGN;
}

/* Returns the number of parts for which an arena needs space; 1 if p is
 * NULL. */
ATTN_API int64_t attn_parts(const struct attn_parallel *p)
{
    if (p)
        return attn_max(p->parts, 1);
    return 1;
}

/* hash.c: XXH64, the hash of Yann Collet's xxHash. It computes four independent
 * sums, each over every fourth word, and so runs at memory speed. */

static const uint64_t hash_prime[6] = { 0,
                                        0x9e3779b185ebca87ull,
                                        0xc2b2ae3d27d4eb4full,
                                        0x165667b19e3779f9ull,
                                        0x85ebca77c2b2ae63ull,
                                        0x27d4eb2f165667c5ull };

static uint64_t hash_rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t hash_word(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Adds a word to a sum. The asm stops clang from vectorising the four sums:
 * 64-bit products are slower in vectors and would halve the speed. */
static uint64_t hash_step(uint64_t sum, uint64_t word)
{
    sum += word * hash_prime[2];
#if defined __clang__
    __asm__("" : "+r"(sum));
#endif
    return hash_rotate(sum, 31) * hash_prime[1];
}

/* Hashes all complete blocks of 32 bytes and merges the four sums. */
static uint64_t hash_sums(const char *at, int64_t bytes, uint64_t seed)
{
    uint64_t a = seed + hash_prime[1] + hash_prime[2];
    uint64_t b = seed + hash_prime[2];
    uint64_t c = seed;
    uint64_t d = seed - hash_prime[1];
    for (int64_t i = 0; i + 32 <= bytes; i += 32) {
        a = hash_step(a, hash_word(at + i));
        b = hash_step(b, hash_word(at + i + 8));
        c = hash_step(c, hash_word(at + i + 16));
        d = hash_step(d, hash_word(at + i + 24));
    }
    uint64_t sums[4] = { a, b, c, d };
    uint64_t h = hash_rotate(a, 1) + hash_rotate(b, 7) + hash_rotate(c, 12)
               + hash_rotate(d, 18);
    for (int i = 0; i < 4; i++)
        h = (h ^ hash_step(0, sums[i])) * hash_prime[1] + hash_prime[4];
    return h;
}

/* Hashes the last 0 to 31 bytes. */
static uint64_t hash_rest(uint64_t h, const char *at, int64_t bytes)
{
    for (; bytes >= 8; bytes -= 8, at += 8) {
        h ^= hash_step(0, hash_word(at));
        h = hash_rotate(h, 27) * hash_prime[1] + hash_prime[4];
    }
    if (bytes >= 4) {
        uint32_t half;
        memcpy(&half, at, sizeof half);
        h ^= half * hash_prime[1];
        h = hash_rotate(h, 23) * hash_prime[2] + hash_prime[3];
        bytes -= 4;
        at += 4;
    }
    for (; bytes > 0; bytes--, at++) {
        h ^= (unsigned char)*at * hash_prime[5];
        h = hash_rotate(h, 11) * hash_prime[1];
    }
    return h;
}

/* Returns the XXH64 of a block at any address. Words are read in the machine's
 * byte order.                                                               */
ATTN_API uint64_t attn_hash(const void *block, int64_t bytes, uint64_t seed)
{
    const char *at = block;
    const int64_t whole = bytes / 32 * 32;
    uint64_t h = seed + hash_prime[5];
    if (whole > 0)
        h = hash_sums(at, whole, seed);
    h = hash_rest(h + (uint64_t)bytes, at + whole, bytes - whole);
    h = (h ^ h >> 33) * hash_prime[2];
    h = (h ^ h >> 29) * hash_prime[3];
    return h ^ h >> 32;
}

/* --------------------------------------- what is called once, or seldom --- */

#if defined __clang__
#pragma clang attribute push(__attribute__((cold)), apply_to = function)
#elif defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#pragma GCC optimize ("O1")
#endif

/* check.c: checks a caller's arguments before they are used. Each check returns
 * 0 or an error.                                                            */

static const char *const check_texts[] = {
    "no error",
    "too little memory, or room for a result",
    "a character or word that the vocabulary does not have",
    "a text that is not UTF-8",
    "a pointer is NULL that may not be",
    "a count or a size is below 0, or too large",
    "a length that the model does not take",
    "a table that does not go up from 0, or leads outside of what there is",
    "an id or a type that the model does not have",
    "an option is out of its range",
    "this kind of model does not do that",
    "no stream, text or vocabulary that was opened, or no slot of its room",
    "a state that is damaged, or of another model",
    "memory that is not at the multiple of bytes that it has to be at",
    "the model's results are not finite: check the weights",
    "the vocabulary has no template for pairs of texts",
    "a number of rows or sequences other than the one that the code is for",
    "a number of ranks other than the one that the code is for",
    "no token can follow by the grammar, or it needs too many states",
};
enum { CHECK_TEXTS = sizeof check_texts / sizeof *check_texts };

ATTN_API const char *attn_error_text(int64_t error)
{
    if (error >= 0 || error <= -CHECK_TEXTS)
        return check_texts[0];
    return check_texts[-error];
}

/* ---- one argument ---- */

ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most)
{
    if (n < least || n > most)
        return ATTN_ERROR_COUNT;
    return 0;
}

ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab)
{
    if (n < 0 || n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (n > 0 && !ids)
        return ATTN_ERROR_NULL;
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return ATTN_ERROR_ID;
    return 0;
}

/* Checks that start[0] is 0, that each following entry is larger by 0 to
 * `longest`, and that start[n] is `rows`. */
ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest)
{
    if (n < 0 || n > ATTN_MOST || rows < 0 || rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (!start)
        return ATTN_ERROR_NULL;
    if (start[0] != 0)
        return ATTN_ERROR_TABLE;
    for (int64_t i = 0; i < n; i++) {
        if (start[i + 1] < start[i])
            return ATTN_ERROR_TABLE;
        if (start[i + 1] - start[i] > longest)
            return ATTN_ERROR_LENGTH;
    }
    if (start[n] != rows)
        return ATTN_ERROR_TABLE;
    return 0;
}

/* Checks the number of ranks; the model divides itself among no other. */
static int check_comm(const struct attn_model *m, const struct attn_comm *comm)
{
    if (!comm)
        return 0;
    (void)m;
    return ATTN_ERROR_RANKS;
}

ATTN_API int attn_check_parallel(const struct attn_model *m,
                                 const struct attn_parallel *p)
{
    if (!p)
        return 0;
    const int wrong = check_comm(m, p->comm);
    if (wrong)
        return wrong;
    if (p->parts > 1 && !p->run)
        return ATTN_ERROR_NULL;
    return attn_check_count(p->parts, 0, ATTN_MOST);
}

/* batch.c: checks a batch with a table of checks, each of which decides if it
 * applies to the call, then calls the model's inner entry. */

struct batch_call { /* one call of an entry */
    const struct attn_model *m;
    const struct attn_batch *b;
    int decodes;
    int first; /* true if the entry reads the source, false if it reads the
                * target */
};

static int batch_rows(const struct batch_call *c)
{
    int64_t longest = c->m->max_source - c->m->class_token;
    if (c->decodes)
        longest = c->m->max_target;
    return attn_check_starts(c->b->start, c->b->sequences, c->b->rows, longest);
}

static int batch_keys(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    if (c->m->kind != ATTN_ATTENTION)
        return 0;
    if (b->rows > 0 && !b->query)
        return ATTN_ERROR_NULL;
    if (b->key_rows > 0 && (!b->key || !b->value))
        return ATTN_ERROR_NULL;
    return attn_check_starts(b->key_start, b->sequences, b->key_rows,
                             c->m->max_target);
}

/* Checks the token ids, or the pointer to rows of numbers. */
static int batch_input(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int64_t vocab = c->m->target_vocab;
    if (c->m->kind == ATTN_ATTENTION)
        return 0;
    if (c->first && c->m->input_width > 0) {
        if (b->rows > 0 && !b->input)
            return ATTN_ERROR_NULL;
        return 0;
    }
    if (!c->decodes)
        vocab = c->m->source_vocab;
    return attn_check_ids(b->ids, b->rows, vocab);
}

static int batch_types(const struct batch_call *c)
{
    if (!c->first || c->m->types == 0 || !c->b->types)
        return 0;
    return attn_check_ids(c->b->types, c->b->rows, c->m->types);
}

static int batch_prefix(const struct batch_call *c)
{
    const int32_t *prefix = c->b->prefix;
    for (int64_t s = 0; prefix && s < c->b->sequences; s++)
        if (prefix[s] < 0)
            return ATTN_ERROR_LENGTH;
    return 0;
}

/* Checks one cache's row of the page table. The row must have pages for `rows`
 * new positions after `past` earlier ones, and for the earlier positions that
 * the new ones read. */
static int batch_table(const struct batch_call *c, int64_t which, int64_t row,
                       int64_t past, int64_t rows)
{
    const struct attn_batch *b = c->b;
    const struct attn_cache_layout *cache = &c->m->cache[which];
    int64_t n = (past + rows + ATTN_PAGE - 1) / ATTN_PAGE, first = 0;
    if (n == 0 || cache->page_bytes == 0)
        return 0;
    if (!b->pool[which] || !b->pages[which])
        return ATTN_ERROR_NULL;
    if ((uintptr_t)b->pool[which] % ATTN_ALIGN != 0)
        return ATTN_ERROR_ALIGNED;
    if (n > b->table[which] || b->table[which] > ATTN_MOST)
        return ATTN_ERROR_TABLE;
    if (cache->window > 0)
        first = attn_max(past + 1 - cache->window, 0) / ATTN_PAGE;
    int wrong = attn_check_ids(b->pages[which] + row * b->table[which] + first,
                               n - first, b->pool_pages[which]);
    if (wrong)
        return ATTN_ERROR_TABLE;
    return 0;
}

/* Checks all caches with owner `of`: ATTN_SELF or ATTN_CROSS. */
static int batch_pages(const struct batch_call *c, int of, int64_t row,
                       int64_t past, int64_t rows)
{
    int wrong = 0;
    for (int64_t i = 0; i < c->m->caches && wrong == 0; i++)
        if (c->m->cache[i].of == of)
            wrong = batch_table(c, i, row, past, rows);
    return wrong;
}

/* Checks the cross caches, which encode writes. */
static int batch_written(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (c->decodes)
        return 0;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->start[s + 1] - b->start[s];
        if (rows > 0)
            rows += c->m->class_token;
        wrong = batch_pages(c, ATTN_CROSS, s, 0, rows);
    }
    return wrong;
}

/* Checks the self caches, to which decode appends. */
static int batch_past(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (!c->decodes || b->sequences == 0)
        return 0;
    if (!b->past)
        return ATTN_ERROR_NULL;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->start[s + 1] - b->start[s];
        if (b->past[s] < 0 || b->past[s] > c->m->max_target - rows)
            return ATTN_ERROR_LENGTH;
        wrong = batch_pages(c, ATTN_SELF, s, b->past[s], rows);
    }
    return wrong;
}

/* Checks the cross caches, which decode reads. */
static int batch_sources(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    if (!c->decodes || c->m->kind != ATTN_ENCODER_DECODER)
        return 0;
    int wrong = attn_check_ids(b->source, b->sequences, b->sources);
    if (wrong)
        return wrong == ATTN_ERROR_ID ? ATTN_ERROR_TABLE : wrong;
    if (b->sequences > 0 && !b->source_rows)
        return ATTN_ERROR_NULL;
    for (int64_t s = 0; s < b->sequences && wrong == 0; s++) {
        int64_t rows = b->source_rows[b->source[s]];
        if (rows < 0 || rows > c->m->max_source)
            return ATTN_ERROR_LENGTH;
        wrong = batch_pages(c, ATTN_CROSS, b->source[s], 0, rows);
    }
    return wrong;
}

static int batch_output(const struct batch_call *c)
{
    const struct attn_batch *b = c->b;
    int wrong = 0;
    if (c->decodes) {
        if (b->selected > b->rows) /* the arena has room for the logits of
                                      each row once */
            return ATTN_ERROR_COUNT;
        wrong = attn_check_ids(b->select, b->selected, b->rows);
        if (b->selected > 0 && !b->output)
            return ATTN_ERROR_NULL;
    } else if (c->m->kind != ATTN_ENCODER_DECODER) {
        if (b->rows > 0 && !b->output)
            return ATTN_ERROR_NULL;
    }
    return wrong == ATTN_ERROR_ID ? ATTN_ERROR_TABLE : wrong;
}

static int (*const batch_checks[])(const struct batch_call *) = {
    batch_rows,    batch_keys, batch_input,   batch_types,  batch_prefix,
    batch_written, batch_past, batch_sources, batch_output,
};

/* ---- entries ---- */

/* The input of an inner encode(). It expects each non-empty sequence to begin
 * with rows of zeros for the learned rows, so the input is copied and these
 * rows are inserted. */
struct batch_room {
    int32_t *start, *types;
    float *input;
    void *arena;
};

static int64_t batch_lay_out(struct batch_room *r, const struct attn_model *m,
                             const struct attn_batch *b, struct attn_memory *at)
{
    int64_t rows = b->rows, sequences = b->sequences;
    memset(r, 0, sizeof *r);
    if (m->kind == ATTN_ATTENTION)
        rows = attn_max(rows, b->key_rows);
    if (m->class_token) {
        rows += sequences * m->class_token;
        r->start = attn_take(at, sequences + 1, sizeof *r->start);
        r->types = attn_take(at, rows, sizeof *r->types);
        r->input = attn_take(at, rows, m->input_width * 4);
    }
    r->arena = attn_take(
        at, m->arena_bytes(rows, sequences, attn_parts(b->parallel)), 1);
    return attn_memory_bytes(at);
}

ATTN_API int64_t attn_batch_bytes(const struct attn_model *m,
                                  const struct attn_batch *b)
{
    struct attn_memory at = { NULL, 0 };
    struct batch_room unused;
    if (!b)
        return ATTN_ERROR_NULL;
    int wrong = attn_check_parallel(m, b->parallel);
    if (wrong)
        return wrong;
    if (b->rows < 0 || b->rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (m->kind == ATTN_ATTENTION && b->key_rows > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    if (b->sequences < 0 || b->sequences > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    return batch_lay_out(&unused, m, b, &at);
}

/* Copies the rows of sequence s, preceded by rows of zeros for the learned
 * rows. */
static void batch_sequence(const struct batch_room *r,
                           const struct attn_model *m,
                           const struct attn_batch *b, int64_t s)
{
    int64_t width = m->input_width, from = b->start[s], to = r->start[s];
    int64_t n = b->start[s + 1] - from, first = to + m->class_token;
    r->start[s + 1] = (int32_t)to;
    if (n == 0)
        return;
    r->start[s + 1] = (int32_t)(first + n);
    memset(r->types + to, 0, (size_t)(first - to) * sizeof *r->types);
    memset(r->input + to * width, 0, (size_t)((first - to) * width) * 4);
    memcpy(r->input + first * width, b->input + from * width,
           (size_t)(n * width) * 4);
    for (int64_t i = 0; i < n && b->types; i++)
        r->types[first + i] = b->types[from + i];
}

static void batch_with_class(struct attn_batch *to, const struct batch_room *r,
                             const struct attn_model *m,
                             const struct attn_batch *b)
{
    *to = *b;
    r->start[0] = 0;
    for (int64_t s = 0; s < b->sequences; s++)
        batch_sequence(r, m, b, s);
    to->start = r->start;
    to->input = r->input;
    to->rows = r->start[b->sequences];
    if (b->types)
        to->types = r->types;
}

static int batch_run(const struct batch_call *c, const void *bound,
                     void *memory, int64_t bytes)
{
    struct attn_memory at;
    struct batch_room room;
    struct attn_batch with;
    int64_t need = attn_batch_bytes(c->m, c->b);
    void (*entry)(const void *, const struct attn_batch *, void *);
    entry = c->m->encode;
    if (c->decodes)
        entry = c->m->decode;
    if (!entry)
        return ATTN_ERROR_KIND;
    if (need < 0)
        return (int)need;
    if (!memory || (!bound && c->m->weights_bytes > 0))
        return ATTN_ERROR_NULL;
    if (!bound && !c->m->target(NULL)) /* else bind() has found it */
        return ATTN_ERROR_OPEN;
    for (size_t i = 0; i < sizeof batch_checks / sizeof *batch_checks; i++) {
        int wrong = batch_checks[i](c);
        if (wrong)
            return wrong;
    }
    if (bytes < need)
        return ATTN_ERROR_ROOM;
    attn_memory_open(&at, memory);
    batch_lay_out(&room, c->m, c->b, &at);
    if (c->m->class_token && !c->decodes) {
        batch_with_class(&with, &room, c->m, c->b);
        entry(bound, &with, room.arena);
        return 0;
    }
    entry(bound, c->b, room.arena);
    return 0;
}

ATTN_API int attn_encode_batch(const struct attn_model *m, const void *bound,
                               const struct attn_batch *b, void *memory,
                               int64_t bytes)
{
    struct batch_call c;
    c.m = m;
    c.b = b;
    c.decodes = 0;
    c.first = 1;
    return batch_run(&c, bound, memory, bytes);
}

ATTN_API int attn_decode_batch(const struct attn_model *m, const void *bound,
                               const struct attn_batch *b, void *memory,
                               int64_t bytes)
{
    struct batch_call c;
    c.m = m;
    c.b = b;
    c.decodes = 1;
    c.first = m->kind == ATTN_DECODER;
    return batch_run(&c, bound, memory, bytes);
}

/* packed.c: checks that a block of bytes is a complete weights file of this
 * model. A file that passes is safe to read at every offset in its header.
 * Messages give the value found, the value expected, and a remedy. */

struct packed { /* a file that is being checked */
    const struct attn_model *m;
    const char *file;
    int64_t bytes;
    struct attn_packed_header h; /* copy of the file's header, if the file is
                                    large enough */
    char *why; /* [ATTN_PACKED_TEXT] message; n bytes are used */
    int64_t n;
};

/* ---- words ---- */

/* Appends at most `most` bytes of a text. Unprintable bytes become '?'. */
static void packed_bytes(struct packed *p, const char *text, int64_t most)
{
    for (int64_t i = 0; i < most && text[i] != '\0'; i++) {
        if (p->n == ATTN_PACKED_TEXT - 1)
            break;
        p->why[p->n] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
        p->n++;
    }
    p->why[p->n] = '\0';
}

static void packed_write(struct packed *p, const char *text)
{
    packed_bytes(p, text, ATTN_PACKED_TEXT);
}

static void packed_number(struct packed *p, uint64_t x, unsigned base)
{
    char digits[21];
    int at = 20;
    digits[at] = '\0';
    do {
        at--;
        digits[at] = "0123456789abcdef"[x % base];
        x /= base;
    } while (x > 0);
    packed_write(p, digits + at);
}

/* Appends two byte counts, e.g. "cut short: it has 5 of 64 bytes". */
static void packed_counts(struct packed *p, const char *first, int64_t found,
                          const char *middle, int64_t expected)
{
    packed_write(p, first);
    packed_number(p, (uint64_t)found, 10);
    packed_write(p, middle);
    packed_number(p, (uint64_t)expected, 10);
    packed_write(p, " bytes; copy it again");
}

static void packed_hashes(struct packed *p, uint64_t found, uint64_t expected)
{
    packed_write(p, " (");
    packed_number(p, found, 16);
    packed_write(p, ", not ");
    packed_number(p, expected, 16);
    packed_write(p, ")");
}

static const char *packed_again(struct packed *p, const char *text)
{
    packed_write(p, text);
    packed_write(p, "; pack it again: ");
    packed_write(p, p->m->command);
    return p->why;
}

static const char *packed_damaged(struct packed *p, const char *text)
{
    packed_write(p, "damaged: ");
    packed_write(p, text);
    return packed_again(p, "; copy it again");
}

/* ---- checks ---- */

static const char packed_magic[] = "ATTNCW03"; /* digits: the version */

static const char *packed_foreign(struct packed *p)
{
    packed_write(p, "not a weights file of attnc: ");
    if (p->bytes < 8) {
        packed_write(p, "too short");
    } else if (memcmp(p->file, "ATTNST", 6) == 0) {
        packed_write(p, "a saved state");
    } else if (p->bytes > 8 && p->file[8] == '{') {
        packed_write(p, "a .safetensors file, which attnc compile packs");
    } else {
        packed_write(p, "its first bytes are '");
        packed_bytes(p, p->file, 8);
        packed_write(p, "', not '");
        packed_write(p, packed_magic);
        packed_write(p, "'");
    }
    return packed_again(p, "");
}

/* Checks the format, the hash of the first page, and the length. */
static const char *packed_wrong_page(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    if (p->bytes < 8 || memcmp(p->file, packed_magic, 6) != 0)
        return packed_foreign(p);
    if (memcmp(p->file, packed_magic, 8) != 0) {
        packed_write(p, "made by another version of attnc: its format is ");
        packed_bytes(p, p->file, 8);
        packed_write(p, ", this program's is ");
        return packed_again(p, packed_magic);
    }
    if (p->bytes < ATTN_PACKED_PAGE) {
        packed_counts(p, "cut short: it has ", p->bytes, " of more than ",
                      ATTN_PACKED_PAGE);
        return p->why;
    }
    memcpy(&p->h, p->file, sizeof p->h);
    if (h->page != attn_packed_page(p->file))
        return packed_damaged(p, "its first page is not what was written");
    if (p->bytes == h->bytes)
        return NULL;
    packed_counts(p,
                  p->bytes < h->bytes ? "cut short: it has "
                                      : "damaged: it has ",
                  p->bytes, " of ", h->bytes);
    return p->why;
}

static int packed_same_dtype(const struct packed *p)
{
    return strncmp(p->h.dtype, p->m->dtype, sizeof p->h.dtype) == 0;
}

/* Checks that the weights have the layout of the model. The name of the model
 * may differ. */
static const char *packed_wrong_layout(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    const struct attn_model *m = p->m;
    if (h->hash == m->weights_hash && packed_same_dtype(p)
        && h->weights_bytes == m->weights_bytes)
        return NULL;
    if (strncmp(h->name, m->name, sizeof h->name) != 0) {
        packed_write(p, "made for the model '");
        packed_bytes(p, h->name, (int64_t)sizeof h->name);
        packed_write(p, "', this is '");
        packed_write(p, m->name);
        return packed_again(p, "'");
    }
    if (!packed_same_dtype(p)) {
        packed_write(p, "its weights are ");
        packed_bytes(p, h->dtype, (int64_t)sizeof h->dtype);
        packed_write(p, ", this program's ");
        return packed_again(p, m->dtype);
    }
    packed_write(p, "made for another form of '");
    packed_write(p, m->name);
    packed_write(p, "'");
    packed_hashes(p, h->hash, m->weights_hash);
    return packed_again(p, "");
}

/* True if a part of the file follows the header page, is aligned to 64 bytes,
 * and ends within the file. */
static int packed_part_fits(int64_t at, int64_t part, int64_t bytes)
{
    if (at < ATTN_PACKED_PAGE || at % ATTN_ALIGN != 0)
        return 0;
    if (part < 0 || at > bytes || part > bytes - at)
        return 0;
    return 1;
}

static const char *packed_wrong_contents(struct packed *p)
{
    const struct attn_packed_header *h = &p->h;
    const uint64_t found = attn_hash(p->file + ATTN_PACKED_PAGE,
                                     p->bytes - ATTN_PACKED_PAGE, 0);
    if (found == h->contents)
        return NULL;
    packed_write(p, "damaged: its contents are not what was packed");
    packed_hashes(p, found, h->contents);
    return packed_again(p, "; copy it again");
}

ATTN_API uint64_t attn_packed_page(const void *file)
{
    const char *from = (const char *)file + 16; /* after magic and page */
    return attn_hash(from, ATTN_PACKED_PAGE - 16, 0);
}

/* Returns NULL if `file` is a weights file for `m`, otherwise a message in
 * why[ATTN_PACKED_TEXT]. If `hashed` is not 0, reads the complete file to check
 * the hash of its contents. */
ATTN_API const char *attn_packed_check(const struct attn_model *m,
                                       const void *file, int64_t bytes,
                                       int64_t hashed, char *why)
{
    struct packed p;
    const struct attn_packed_header *h = &p.h;
    memset(&p, 0, sizeof p);
    p.m = m;
    p.file = file;
    p.bytes = bytes;
    p.why = why;
    const char *wrong = packed_wrong_page(&p);
    if (!wrong)
        wrong = packed_wrong_layout(&p);
    if (!wrong && !packed_part_fits(h->weights_at, h->weights_bytes, bytes))
        wrong = packed_damaged(&p, "the weights lie outside the file");
    if (!wrong && hashed && h->contents != 0)
        wrong = packed_wrong_contents(&p);
    return wrong;
}

/* ---- open ---- */

static const char *packed_fill(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes, int64_t hashed)
{
    const void *packed = NULL;
    if (!bound || (uintptr_t)bound % 8 != 0)
        return "bound: memory at a multiple of 8 bytes is expected";
    if (file || m->weights_bytes > 0) {
        if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
            return "file: memory at a multiple of 64 bytes is expected";
        const char *wrong = attn_packed_check(m, file, bytes, hashed, bound);
        if (wrong)
            return wrong;
        packed = attn_packed_weights(file);
    }
    m->bind(bound, packed);
    return m->target(bound)
             ? NULL
             : "no code in this file runs on this processor: compile the spec "
               "again for it, see --march";
}

ATTN_API const char *attn_bind(const struct attn_model *m, void *bound,
                               const void *file, int64_t bytes)
{
    return packed_fill(m, bound, file, bytes, 1);
}

ATTN_API const char *attn_bind_lazily(const struct attn_model *m, void *bound,
                                      const void *file, int64_t bytes)
{
    return packed_fill(m, bound, file, bytes, 0);
}

/* Returns a part of a checked file, or NULL if the file has no such part. */
static const void *packed_part(const void *file, int64_t at, int64_t bytes)
{
    const struct attn_packed_header *h = file;
    if (bytes < 1 || !packed_part_fits(at, bytes, h->bytes))
        return NULL;
    return (const char *)file + at;
}

static int packed_head(const void *file)
{
    if (!file || (uintptr_t)file % ATTN_ALIGN != 0)
        return 0;
    return memcmp(file, packed_magic, 8) == 0;
}

ATTN_API const void *attn_packed_weights(const void *file)
{
    const struct attn_packed_header *h = file;
    if (!packed_head(file))
        return NULL;
    return packed_part(file, h->weights_at, h->weights_bytes);
}

/* ------------------------------------------------------------- exported --- */

/* Returns the embedded model.weights file, or NULL. */
const void *tiny_embedded(int64_t *bytes)
{
    if (bytes)
        *bytes = 0;
    return NULL;
}

static const char *target_of(const void *bound)
{
    (void)bound;
    return "x86-64-v3";
}

static const struct attn_model model = {
    .name = "tiny",
    .kind = 0,
    .d_model = 32,
    .source_vocab = 48,
    .target_vocab = 48,
    .max_source = 16,
    .max_target = 16,
    .input_width = 0,
    .class_token = 0,
    .types = 0,
    .output_columns = 48,
    .output_pooled = 0,
    .weights_bytes = 181248,
    .dtype = "f32",
    .weights_hash = 0x445517bff4db0c16ull,
    .spec_hash = 0xa6cb321d19a50c29ull,
    .command =
        "attnc compile tiny.yaml --march\075x86-64-v3 --parts\075model",
    .bound_bytes = sizeof(struct weights) + ATTN_PACKED_TEXT,
    .caches = 2,
    .cache = {
        { .of = ATTN_SELF, .page_bytes = 32768, .blocks = 4,
          .d_k = 16, .v_panels = 1 },
        { .of = ATTN_CROSS, .page_bytes = 32768, .blocks = 4,
          .d_k = 16, .v_panels = 1 },
    },
    .arena_bytes = arena_bytes,
    .bind = bind_weights,
    .encode = encode,
    .decode = decode,
    .log_sum_exp = 0,
    .target = target_of,
    .embedded = tiny_embedded,
};

const struct attn_model *tiny_model(void)
{
    return &model;
}

const char *tiny_error_text(int64_t error)
{
    return attn_error_text(error);
}

const char *tiny_bind(void *bound, const void *file, int64_t bytes)
{
    return attn_bind(&model, bound, file, bytes);
}

const char *tiny_bind_lazily(void *bound, const void *file, int64_t bytes)
{
    return attn_bind_lazily(&model, bound, file, bytes);
}

int64_t tiny_batch_bytes(const struct attn_batch *b)
{
    return attn_batch_bytes(&model, b);
}

int tiny_encode_batch(const void *bound, const struct attn_batch *b,
                      void *memory, int64_t bytes)
{
    return attn_encode_batch(&model, bound, b, memory, bytes);
}

int tiny_decode_batch(const void *bound, const struct attn_batch *b,
                      void *memory, int64_t bytes)
{
    return attn_decode_batch(&model, bound, b, memory, bytes);
}


#if defined __clang__
#pragma clang attribute pop
#elif defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif
