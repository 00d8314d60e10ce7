/* tiny, a Transformer in C, made by attnc 0.1.0
 * from the spec of hash a6cb321d19a50c29 by
 *     attnc compile tiny.yaml --march=x86-64-v3
 *
 * To compile this file (here model.c), or to make it a program:
 *     cc -O2 -std=c11 -march=x86-64-v3 -c model.c
 *     cc -O2 -std=c11 -march=x86-64-v3 -DATTNC_MAIN model.c -lm -pthread -o model
 *     ./model model.weights < lines
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
 *                      copy_rows log_sum_exp
 */
#if !defined __AVX2__ || !defined __FMA__
#error "made for x86-64-v3: compile with -march=x86-64-v3"
#endif

#if defined ATTNC_MAIN || defined ATTNC_THREADS
/* system.h: the system headers for threads and for the program. They are at the
 * top of an emitted file, because _GNU_SOURCE must precede all headers. */
#ifndef ATTN_SYSTEM_1
#define ATTN_SYSTEM_1

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for syscall, sched_getaffinity, getline */
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#ifndef ATTNC_NO_FUTEX
#define ATTN_FUTEX /* without this, idle threads wait on a condition variable \
                    */
#include <linux/futex.h>
#include <sys/syscall.h>
#endif
#endif
#if !defined __STDC_NO_ATOMICS__ && !defined __TINYC__
#define ATTN_ATOMICS /* without this there is only one thread */
#include <stdatomic.h>
#endif

#endif
#endif
/* handle_system.h: the system headers for an open model. They are at the top of
 * an emitted file, because the macros must precede all headers. */
#ifndef ATTN_HANDLE_SYSTEM_1
#define ATTN_HANDLE_SYSTEM_1

#if defined __unix__ || defined __APPLE__
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* mmap */
#endif
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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

/* A function that computes part `part` of `parts` of a step. */
typedef void step_function(void *call, int64_t part, int64_t parts);

struct step {
    step_function *run;
    int64_t flops;           /* per row; for attention, per query and
                                key */
};

/* Consecutive steps that work row by row. Threads divide the columns of a
 * product, and the rows of any other step. */
struct steps {
    int64_t count;
    int64_t min_part_rows;   /* fewest rows for a part of all steps */
    int64_t block_rows;      /* rows that pass all steps in turn; 0: all */
    struct step step[5];
};

/* One call of encode(): its arguments, its current layer and rows, and the
 * address of each value in the arena. Values whose lifetimes do not
 * overlap may share memory. */
struct encode {
    const struct weights *w;
    const struct attn_batch *b;
    const void *layer_weights;
    float *cross;                    /* the same of a cross cache */
    const struct steps *steps;       /* the current steps */
    int64_t row, rows;               /* these are for `rows` rows from
                                        `row` on */
    int64_t block_rows;              /* as in struct steps; never 0 */
    float *x;                        /* 32 floats a row */
    float *self_attn_qkv;            /* 96 floats a row */
    float *self_attn_keys;           /* 2048 floats a page */
    float *self_attn_values;         /* 2048 floats a page */
    float *self_attn;                /* 32 floats a row */
    float *self_attn_o;              /* 3072 floats a part */
    float *norm1;                    /* 3072 floats a part */
    float *ffn_w1;                   /* 6144 floats a part */
    float *ffn_w2;                   /* 3072 floats a part */
    float *cross_attn_kv;            /* 64 floats a row */
    float *scratch;                  /* 4656 floats per part */
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
    const struct steps *steps;       /* the current steps */
    int64_t row, rows;               /* these are for `rows` rows from
                                        `row` on */
    int64_t block_rows;              /* as in struct steps; never 0 */
    float *x;                        /* 32 floats a row */
    float *self_attn_qkv;            /* 96 floats a row */
    float *self_attn;                /* 32 floats a row */
    float *self_attn_o;              /* 3072 floats a part */
    float *cross_attn_q;             /* 32 floats a row */
    float *cross_attn;               /* 32 floats a row */
    float *cross_attn_o;             /* 3072 floats a part */
    float *norm3;                    /* 3072 floats a part */
    float *ffn_w1;                   /* 6144 floats a part */
    float *ffn_w2;                   /* 3072 floats a part */
    float *logits_selected;          /* 32 floats a row */
    float *logits_matmul;            /* 48 floats a row */
    float *scratch;                  /* 4656 floats per part */
};

/* ------------------------------------------------------- encode, decode --- */

static step_function encoder_source_input, encoder_self_attn_qkv,
    encoder_self_attn_pages, encoder_self_attn, encoder_self_attn_o,
    encoder_norm1, encoder_ffn_w1, encoder_ffn_w2, encoder_norm2, cross_attn_kv,
    cross_attn_pages, decoder_target_input, decoder_self_attn_qkv,
    decoder_self_attn_pages, decoder_self_attn, decoder_self_attn_o,
    decoder_norm1, decoder_cross_attn_q, decoder_cross_attn,
    decoder_cross_attn_o, decoder_norm3, decoder_ffn_w1, decoder_ffn_w2,
    decoder_norm2, decoder_logits_selected, decoder_logits_matmul,
    decoder_output;

static void run_step(const struct attn_batch *b, int64_t count,
                     const struct step *step, void *call);
static void encode_layout(struct encode *c, const void *bound,
                          const struct attn_batch *b, float *arena);
static void encode_rows(struct encode *c, int64_t rows,
                        const struct steps *steps);
static void decode_layout(struct decode *c, const void *bound,
                          const struct attn_batch *b, float *arena);
static void decode_rows(struct decode *c, int64_t rows,
                        const struct steps *steps);
static int64_t pairs(const struct attn_batch *b);
static int64_t pairs_cached(const struct attn_batch *b);
static int64_t pairs_recalled(const struct attn_batch *b);

static const struct step encoder_source_input_step = {
    encoder_source_input, .flops = 2048
};

static const struct steps encoder_self_attn_qkv_steps = {
    .count = 1,
    .min_part_rows = 8,
    .step = {
        { encoder_self_attn_qkv, .flops = 6144 },
    }
};

static const struct step encoder_self_attn_pages_step = {
    encoder_self_attn_pages, .flops = 1024
};

static const struct step encoder_self_attn_step = {
    encoder_self_attn, .flops = 160
};

static const struct steps encoder_o_norm1_w1_w2_norm2_steps = {
    .count = 5,
    .min_part_rows = 8,
    .block_rows = 96,
    .step = {
        { encoder_self_attn_o, .flops = 2048 },
        { encoder_norm1, .flops = 512 },
        { encoder_ffn_w1, .flops = 4096 },
        { encoder_ffn_w2, .flops = 4096 },
        { encoder_norm2, .flops = 512 },
    }
};

static const struct steps cross_attn_kv_steps = {
    .count = 1,
    .min_part_rows = 8,
    .step = {
        { cross_attn_kv, .flops = 4096 },
    }
};

static const struct step cross_attn_pages_step = {
    cross_attn_pages, .flops = 1024
};

static const struct step decoder_target_input_step = {
    decoder_target_input, .flops = 2048
};

static const struct steps decoder_self_attn_qkv_steps = {
    .count = 1,
    .min_part_rows = 8,
    .step = {
        { decoder_self_attn_qkv, .flops = 6144 },
    }
};

static const struct step decoder_self_attn_pages_step = {
    decoder_self_attn_pages, .flops = 1024
};

static const struct step decoder_self_attn_step = {
    decoder_self_attn, .flops = 160
};

static const struct steps decoder_o_norm1_q_steps = {
    .count = 3,
    .min_part_rows = 8,
    .block_rows = 96,
    .step = {
        { decoder_self_attn_o, .flops = 2048 },
        { decoder_norm1, .flops = 512 },
        { decoder_cross_attn_q, .flops = 2048 },
    }
};

static const struct step decoder_cross_attn_step = {
    decoder_cross_attn, .flops = 160
};

static const struct steps decoder_o_norm3_w1_w2_norm2_steps = {
    .count = 5,
    .min_part_rows = 8,
    .block_rows = 96,
    .step = {
        { decoder_cross_attn_o, .flops = 2048 },
        { decoder_norm3, .flops = 512 },
        { decoder_ffn_w1, .flops = 4096 },
        { decoder_ffn_w2, .flops = 4096 },
        { decoder_norm2, .flops = 512 },
    }
};

static const struct step decoder_logits_selected_step = {
    decoder_logits_selected, .flops = 512
};

static const struct steps decoder_logits_matmul_steps = {
    .count = 1,
    .min_part_rows = 8,
    .step = {
        { decoder_logits_matmul, .flops = 3072 },
    }
};

static const struct steps decoder_output_steps = {
    .count = 1,
    .min_part_rows = 8,
    .step = {
        { decoder_output, .flops = 768 },
    }
};

/* Encodes all rows of all sequences. */
static void encode(const void *bound, const struct attn_batch *b, void *arena)
{
    struct encode c;

    encode_layout(&c, bound, b, arena);
    run_step(b, b->rows, &encoder_source_input_step, &c);
    for (int64_t l = 0; l < ENCODER_LAYERS; l++) {
        c.layer_weights = &c.w->encoder[l];
        encode_rows(&c, b->rows, &encoder_self_attn_qkv_steps);
        run_step(b, b->rows, &encoder_self_attn_pages_step, &c);
        run_step(b, pairs(b), &encoder_self_attn_step, &c);
        encode_rows(&c, b->rows, &encoder_o_norm1_w1_w2_norm2_steps);
    }
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        c.layer_weights = &c.w->cross[l];
        c.cross = b->pool[1] + l * 4096;
        encode_rows(&c, b->rows, &cross_attn_kv_steps);
        run_step(b, b->rows, &cross_attn_pages_step, &c);
    }
}

/* Decodes the new rows of all sequences, which follow those in the
 * cache: a complete prompt, or one row. */
static void decode(const void *bound, const struct attn_batch *b, void *arena)
{
    struct decode c;

    decode_layout(&c, bound, b, arena);
    run_step(b, b->rows, &decoder_target_input_step, &c);
    for (int64_t l = 0; l < DECODER_LAYERS; l++) {
        c.layer_weights = &c.w->decoder[l];
        c.self = b->pool[0] + l * 4096;
        c.cross = b->pool[1] + l * 4096;
        decode_rows(&c, b->rows, &decoder_self_attn_qkv_steps);
        run_step(b, b->rows, &decoder_self_attn_pages_step, &c);
        run_step(b, pairs_cached(b), &decoder_self_attn_step, &c);
        decode_rows(&c, b->rows, &decoder_o_norm1_q_steps);
        run_step(b, pairs_recalled(b), &decoder_cross_attn_step, &c);
        decode_rows(&c, b->rows, &decoder_o_norm3_w1_w2_norm2_steps);
    }
    run_step(b, b->selected, &decoder_logits_selected_step, &c);
    decode_rows(&c, b->selected, &decoder_logits_matmul_steps);
    decode_rows(&c, b->selected, &decoder_output_steps);
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

/* Returns y, or 0 in each lane in which x < least. */
INLINE v v_zero_below(v y, v x, v least)
{
    const v_int below = x < least;
    return (v)((v_int)y & ~below);
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

/* Returns rest in e^x = scale (1 + rest) for x in -87 .. 88, scale a power
 * of 2. x = n ln 2 + r with |r| <= ln 2 / 2, where ln 2 has two parts [Cody and
 * Waite 1980]; rest = r + r^2 P(r), P minimax. */
INLINE v v_exp_rest(v x, v *scale)
{
    const v shift = v_splat(0x1.8000fep+23f);  /* rounds to n + 127 */
    const v t = v_fma(x, v_splat(0x1.715476p+0f), shift);
    const v n = t - shift;
    v r = v_fma(n, v_splat(-0x1.62e4p-1f), x);
    r = v_fma(n, v_splat(-0x1.7f7d1cp-20f), r);
    v p = v_splat(0x1.6a4ce4p-10f);
    p = v_fma(p, r, v_splat(0x1.123988p-7f));
    p = v_fma(p, r, v_splat(0x1.5558bp-5f));
    p = v_fma(p, r, v_splat(0x1.555492p-3f));
    p = v_fma(p, r, v_splat(0x1.fffffcp-2f));
    *scale = v_power_of_2(t);
    return v_fma(p, r * r, r);
}

/* Returns e^x for x <= 88. Below the smallest normal number it returns 0, also
 * for -inf; e^0 is 1; NaN stays NaN. */
INLINE v v_exp(v x)
{
    v scale;
    const v rest = v_exp_rest(x, &scale);
    return v_zero_below(v_fma(rest, scale, scale), x,
                        v_splat(-0x1.5d589ep+6f));
}

/* Returns ln x within 2 ulp. x = 2^k m, m in sqrt(1/2) .. sqrt(2), f = m - 1,
 * s = f / (2 + f), ln m = 2 s + s^3 R(s^2) = f - s (f - s^2 R), R minimax. */
static float log1(float x)
{
    union { float f; int32_t bits; } u;
    float k = 0.0f;
    if (x == 0.0f)
        return -INFINITY;
    if (!(x > 0.0f))
        return (x - x) / (x - x);
    if (x == INFINITY)
        return x;
    if (x < 0x1p-126f) {         /* a subnormal number */
        x = x * 0x1p+25f;
        k = -25.0f;
    }
    u.f = x;
    const int32_t above = u.bits - 0x3f3504f3;      /* sqrt(1/2) */
    k += (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;
    const float f = u.f - 1.0f;
    const float s = f / (2.0f + f);
    const float z = s * s;
    float r = fma1(z, 0x1.31dfeap-2f, 0x1.995edap-2f);
    r = fma1(z, r, 0x1.55557ap-1f);
    const float low = fma1(k, -0x1.7f7d1cp-20f, s * fma1(-z, r, f));
    return fma1(k, 0x1.62e4p-1f, f - low);
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

static float row_max(const float *x, int64_t n)
{
    float pad[16], lane[16];
    for (int64_t i = 0; i < 16; i++)
        lane[i] = -INFINITY;
    for (int64_t j = 0; j < n; j += 16) {
        const float *p = padded_16(pad, x + j, n - j, -INFINITY);
        for (int64_t i = 0; i < 16; i += W)
            v_store(lane + i, v_max(v_load(p + i), v_load(lane + i)));
    }
    return lane_max(lane);
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

/* Returns the sum of exp(x - base); y gets the terms unless it is NULL. */
static float exp_row(float *y, const float *x, int64_t n, float base)
{
    float pad[16], part[16], lane[16];
    for (int64_t i = 0; i < 16; i++)
        lane[i] = 0.0f;
    for (int64_t j = 0; j < n; j += 16) {
        const float *p = padded_16(pad, x + j, n - j, -INFINITY);
        for (int64_t i = 0; i < 16; i += W) {
            const v e = v_exp(v_load(p + i) - v_splat(base));
            v_store(part + i, e);
            v_store(lane + i, v_load(lane + i) + e);
        }
        if (y)
            for (int64_t i = 0; i < 16 && j + i < n; i++)
                y[j + i] = part[i];
    }
    return lane_sum(lane);
}

/* Returns ln(sum(e^x)) without overflow. */
static float log_sum_exp(const float *x, int64_t n)
{
    const float base = row_max(x, n);
    if (base == -INFINITY)
        return log1(exp_row(0, x, n, 0.0f));
    return base + log1(exp_row(0, x, n, base));
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

/* Returns the begin of a part of n, a multiple of `step`. */
static int64_t part_begin(int64_t n, int64_t step, int64_t part,
                          int64_t parts)
{
    if (parts == 1)
        return part * n;
    return min(n, (n + step - 1) / step * part / parts * step);
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
static void encoder_source_input(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t first = part_begin(b->rows, 1, part, parts);
    const int64_t last = part_begin(b->rows, 1, part + 1, parts);

    for (int64_t s = 0; s < b->sequences; s++) {
        const int64_t end = min(b->start[s + 1], last);

        for (int64_t i = max(b->start[s], first); i < end; i++) {
            const int64_t id = b->ids[i];
            const int64_t at = i - b->start[s];

            embed_row(c->x + i * 32, c->w->target + id / 16 * 512 + id % 16, 16,
                      32, 0x1.6a09e6p+2f, c->w->source_positions + at * 32);
        }
    }
}

/* self_attn_qkv = linear: f32[n, 96] */
static void encoder_self_attn_qkv(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(96, 16, part, parts);
    const int64_t to = part_begin(96, 16, part + 1, parts);

    matmul_bias_32x96(c->rows, from, to, c->x + c->row * 32, 32,
                      w->self_attn_qkv, w->self_attn_qkv_bias,
                      c->self_attn_qkv + c->row * 96, 96);
}

/* self_attn_keys = pack_kv: f32[2, n, 16]
 * self_attn_values = pack_kv: f32[2, n, 16] */
static void encoder_self_attn_pages(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = part; task < tasks; task += parts) {
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
static void encoder_self_attn(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;
    float *const scratch = c->scratch + part * 4656;

    for (int64_t task = part; task < tasks; task += parts) {
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
                        c->self_attn + row * 32 + head * 16, 32, scratch);
    }
}

/* self_attn_o = linear: f32[n, 32] */
static void encoder_self_attn_o(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_32x32(c->rows, from, to, c->self_attn + c->row * 32, 32,
                      w->self_attn_o, w->self_attn_o_bias, c->self_attn_o, 32);
}

/* norm1 = add_norm: f32[n, 32] */
static void encoder_norm1(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    add_norm_rows(c->norm1 + at * 32, 32, c->x + i * 32, 32,
                  c->self_attn_o + at * 32, 32, w->norm1, w->norm1_bias, rows,
                  32, 0x1.0c6f7ap-20f);
}

/* ffn_w1 = linear: f32[n, 64] */
static void encoder_ffn_w1(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(64, 16, part, parts);
    const int64_t to = part_begin(64, 16, part + 1, parts);

    matmul_bias_relu_32x64(c->rows, from, to, c->norm1, 32, w->ffn_w1,
                           w->ffn_w1_bias, c->ffn_w1, 64);
}

/* ffn_w2 = linear: f32[n, 32] */
static void encoder_ffn_w2(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_64x32(c->rows, from, to, c->ffn_w1, 64, w->ffn_w2,
                      w->ffn_w2_bias, c->ffn_w2, 32);
}

/* norm2 = add_norm: f32[n, 32] */
static void encoder_norm2(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct encoder_layer *w = c->layer_weights;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    add_norm_rows(c->x + i * 32, 32, c->norm1 + at * 32, 32,
                  c->ffn_w2 + at * 32, 32, w->norm2, w->norm2_bias, rows, 32,
                  0x1.0c6f7ap-20f);
}

/* cross_attn_kv = linear: f32[n, 64] */
static void cross_attn_kv(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct cross_layer *w = c->layer_weights;
    const int64_t from = part_begin(64, 16, part, parts);
    const int64_t to = part_begin(64, 16, part + 1, parts);

    matmul_bias_32x64(c->rows, from, to, c->x + c->row * 32, 32,
                      w->cross_attn_kv, w->cross_attn_kv_bias,
                      c->cross_attn_kv + c->row * 64, 64);
}

/* cross_attn_keys = append: f32[2, n, 16]
 * cross_attn_values = append: f32[2, n, 16] */
static void cross_attn_pages(void *call, int64_t part, int64_t parts)
{
    const struct encode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = part; task < tasks; task += parts) {
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
static void decoder_target_input(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t first = part_begin(b->rows, 1, part, parts);
    const int64_t last = part_begin(b->rows, 1, part + 1, parts);

    for (int64_t s = 0; s < b->sequences; s++) {
        const int64_t end = min(b->start[s + 1], last);

        for (int64_t i = max(b->start[s], first); i < end; i++) {
            const int64_t id = b->ids[i];
            const int64_t at = b->past[s] + i - b->start[s];

            embed_row(c->x + i * 32, c->w->target + id / 16 * 512 + id % 16, 16,
                      32, 0x1.6a09e6p+2f, c->w->target_positions + at * 32);
        }
    }
}

/* self_attn_qkv = linear: f32[t, 96] */
static void decoder_self_attn_qkv(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(96, 16, part, parts);
    const int64_t to = part_begin(96, 16, part + 1, parts);

    matmul_bias_32x96(c->rows, from, to, c->x + c->row * 32, 32,
                      w->self_attn_qkv, w->self_attn_qkv_bias,
                      c->self_attn_qkv + c->row * 96, 96);
}

/* self_attn_keys = append: f32[2, p+t, 16]
 * self_attn_values = append: f32[2, p+t, 16] */
static void decoder_self_attn_pages(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;

    for (int64_t task = part; task < tasks; task += parts) {
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
static void decoder_self_attn(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;
    float *const scratch = c->scratch + part * 4656;

    for (int64_t task = part; task < tasks; task += parts) {
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
                                     scratch);
    }
}

/* self_attn_o = linear: f32[t, 32] */
static void decoder_self_attn_o(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_32x32(c->rows, from, to, c->self_attn + c->row * 32, 32,
                      w->self_attn_o, w->self_attn_o_bias, c->self_attn_o, 32);
}

/* norm1 = add_norm: f32[t, 32] */
static void decoder_norm1(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    add_norm_rows(c->x + i * 32, 32, c->x + i * 32, 32,
                  c->self_attn_o + at * 32, 32, w->norm1, w->norm1_bias, rows,
                  32, 0x1.0c6f7ap-20f);
}

/* cross_attn_q = linear: f32[t, 32] */
static void decoder_cross_attn_q(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_32x32(c->rows, from, to, c->x + c->row * 32, 32,
                      w->cross_attn_q, w->cross_attn_q_bias,
                      c->cross_attn_q + c->row * 32, 32);
}

/* cross_attn = attention: f32[t, 32] */
static void decoder_cross_attn(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct attn_batch *b = c->b;
    const int64_t tasks = b->sequences * 2;
    float *const scratch = c->scratch + part * 4656;

    for (int64_t task = part; task < tasks; task += parts) {
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
                              scratch);
    }
}

/* cross_attn_o = linear: f32[t, 32] */
static void decoder_cross_attn_o(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_32x32(c->rows, from, to, c->cross_attn + c->row * 32, 32,
                      w->cross_attn_o, w->cross_attn_o_bias, c->cross_attn_o,
                      32);
}

/* norm3 = add_norm: f32[t, 32] */
static void decoder_norm3(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    add_norm_rows(c->norm3 + at * 32, 32, c->x + i * 32, 32,
                  c->cross_attn_o + at * 32, 32, w->norm3, w->norm3_bias, rows,
                  32, 0x1.0c6f7ap-20f);
}

/* ffn_w1 = linear: f32[t, 64] */
static void decoder_ffn_w1(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(64, 16, part, parts);
    const int64_t to = part_begin(64, 16, part + 1, parts);

    matmul_bias_relu_32x64(c->rows, from, to, c->norm3, 32, w->ffn_w1,
                           w->ffn_w1_bias, c->ffn_w1, 64);
}

/* ffn_w2 = linear: f32[t, 32] */
static void decoder_ffn_w2(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t from = part_begin(32, 16, part, parts);
    const int64_t to = part_begin(32, 16, part + 1, parts);

    matmul_bias_64x32(c->rows, from, to, c->ffn_w1, 64, w->ffn_w2,
                      w->ffn_w2_bias, c->ffn_w2, 32);
}

/* norm2 = add_norm: f32[t, 32] */
static void decoder_norm2(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct decoder_layer *w = c->layer_weights;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    add_norm_rows(c->x + i * 32, 32, c->norm3 + at * 32, 32,
                  c->ffn_w2 + at * 32, 32, w->norm2, w->norm2_bias, rows, 32,
                  0x1.0c6f7ap-20f);
}

/* logits_selected = select: f32[r, 32] */
static void decoder_logits_selected(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const struct attn_batch *b = c->b;

    for (int64_t i = part; i < b->selected; i += parts) {
        copy_rows(c->logits_selected + i * 32, 0, c->x + b->select[i] * 32, 0,
                  1, 32);
    }
}

/* logits_matmul = matmul: f32[r, 48] */
static void decoder_logits_matmul(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const int64_t from = part_begin(48, 16, part, parts);
    const int64_t to = part_begin(48, 16, part + 1, parts);

    matmul_32x48(c->rows, from, to, c->logits_selected + c->row * 32, 32,
                 c->w->target, c->logits_matmul + c->row * 48, 48);
}

/* output = output: f32[r, 48] */
static void decoder_output(void *call, int64_t part, int64_t parts)
{
    const struct decode *c = call;
    const int64_t at = part_begin(c->rows, 1, part, parts);
    const int64_t rows = part_begin(c->rows, 1, part + 1, parts) - at;
    const int64_t i = c->row + at;

    copy_rows(c->b->output + i * 48, 48, c->logits_matmul + i * 48, 48, rows,
              48);
}

/* ---------------------------------- parts for threads, places in memory --- */

/* PART_FLOPS: fewest FLOPs that justify a thread. Fewer rows or queries than
 * these minima cost as much, because reading the weights or keys dominates. */
enum { PART_FLOPS = 1500000, MIN_ROWS = 2, MIN_QUERIES = 8 };

/* Returns queries times keys, summed over all sequences. */
static int64_t pairs(const struct attn_batch *b)
{
    int64_t n = 0;

    for (int64_t s = 0; s < b->sequences; s++)
        n += max(b->start[s + 1] - b->start[s], MIN_QUERIES)
             * (b->start[s + 1] - b->start[s]);
    return n;
}

/* Returns queries times keys, summed over all sequences. */
static int64_t pairs_cached(const struct attn_batch *b)
{
    int64_t n = 0;

    for (int64_t s = 0; s < b->sequences; s++)
        n += max(b->start[s + 1] - b->start[s], MIN_QUERIES)
             * (b->past[s] + b->start[s + 1] - b->start[s]);
    return n;
}

/* Returns queries times keys, summed over all sequences. */
static int64_t pairs_recalled(const struct attn_batch *b)
{
    int64_t n = 0;

    for (int64_t s = 0; s < b->sequences; s++)
        n += max(b->start[s + 1] - b->start[s], MIN_QUERIES)
             * (b->source_rows[b->source[s]]);
    return n;
}

/* Returns the rows of the next block of n rows. Blocks have at most `most`
 * rows, and equal heights because each of them reads all weights. */
static int64_t next_block(int64_t n, int64_t most)
{
    if (n <= most)
        return n;
    const int64_t blocks = (n + most - 1) / most;

    return (n + blocks - 1) / blocks;
}

/* Returns the number of parts for work of `flops` FLOPs. */
static int64_t parts_of(const struct attn_batch *b, int64_t flops)
{
    if (b->parallel)
        return max(min(b->parallel->parts, flops / PART_FLOPS), 1);
    return 1;
}

static void run_parts(const struct attn_batch *b, int64_t parts,
                      step_function *run, void *call)
{
    if (parts > 1)
        b->parallel->run(b->parallel->pool, parts, run, call);
    else
        run(call, 0, 1);
}

/* Runs a step for `count` rows, or pairs of a query and a key. */
static void run_step(const struct attn_batch *b, int64_t count,
                     const struct step *step, void *call)
{
    run_parts(b, parts_of(b, count * step->flops), step->run, call);
}

/* Runs all steps for a part of the rows, block by block. */
static void encode_rows_part(void *call, int64_t part, int64_t parts)
{
    struct encode c;

    memcpy(&c, call, sizeof c);
    const int64_t end = part_begin(c.rows, 6, part + 1, parts);

    c.row = part_begin(c.rows, 6, part, parts);
    c.self_attn_o += part * 3072;
    c.norm1 += part * 3072;
    c.ffn_w1 += part * 6144;
    c.ffn_w2 += part * 3072;
    for (; c.row < end; c.row += c.rows) {
        c.rows = next_block(end - c.row, c.block_rows);
        for (int64_t s = 0; s < c.steps->count; s++)
            c.steps->step[s].run(&c, 0, 1);
    }
}

/* Runs the steps for all rows. Divides the rows if each part has enough of
 * them; else divides each step, block by block. */
static void encode_rows(struct encode *c, int64_t rows,
                        const struct steps *steps)
{
    int64_t flops = 0;

    for (int64_t s = 0; s < steps->count; s++)
        flops += steps->step[s].flops;
    const int64_t parts = parts_of(c->b, max(rows, MIN_ROWS) * flops);

    c->steps = steps;
    c->block_rows = steps->block_rows ? steps->block_rows : max(rows, 1);
    c->row = 0;
    c->rows = rows;
    if (parts == 1 || rows >= parts * steps->min_part_rows) {
        run_parts(c->b, parts, encode_rows_part, c);
        return;
    }
    for (; c->row < rows; c->row += c->rows) {
        c->rows = next_block(rows - c->row, c->block_rows);
        for (int64_t s = 0; s < steps->count; s++)
            run_step(c->b, max(c->rows, MIN_ROWS), &steps->step[s], c);
    }
}

/* Runs all steps for a part of the rows, block by block. */
static void decode_rows_part(void *call, int64_t part, int64_t parts)
{
    struct decode c;

    memcpy(&c, call, sizeof c);
    const int64_t end = part_begin(c.rows, 6, part + 1, parts);

    c.row = part_begin(c.rows, 6, part, parts);
    c.self_attn_o += part * 3072;
    c.cross_attn_o += part * 3072;
    c.norm3 += part * 3072;
    c.ffn_w1 += part * 6144;
    c.ffn_w2 += part * 3072;
    for (; c.row < end; c.row += c.rows) {
        c.rows = next_block(end - c.row, c.block_rows);
        for (int64_t s = 0; s < c.steps->count; s++)
            c.steps->step[s].run(&c, 0, 1);
    }
}

/* Runs the steps for all rows. Divides the rows if each part has enough of
 * them; else divides each step, block by block. */
static void decode_rows(struct decode *c, int64_t rows,
                        const struct steps *steps)
{
    int64_t flops = 0;

    for (int64_t s = 0; s < steps->count; s++)
        flops += steps->step[s].flops;
    const int64_t parts = parts_of(c->b, max(rows, MIN_ROWS) * flops);

    c->steps = steps;
    c->block_rows = steps->block_rows ? steps->block_rows : max(rows, 1);
    c->row = 0;
    c->rows = rows;
    if (parts == 1 || rows >= parts * steps->min_part_rows) {
        run_parts(c->b, parts, decode_rows_part, c);
        return;
    }
    for (; c->row < rows; c->row += c->rows) {
        c->rows = next_block(rows - c->row, c->block_rows);
        for (int64_t s = 0; s < steps->count; s++)
            run_step(c->b, max(c->rows, MIN_ROWS), &steps->step[s], c);
    }
}

/* Returns the bytes of the arena, with space to align it to 64. */
static int64_t arena_bytes(int64_t rows, int64_t sequences, int64_t parts)
{
    const int64_t encode_floats =
        rows * 224 + sequences * 4096 + parts * 16944;
    const int64_t decode_floats =
        rows * 160 + parts * 16944;

    return 4 * max(encode_floats, decode_floats) + 64;
}

static void encode_layout(struct encode *c, const void *bound,
                          const struct attn_batch *b, float *arena)
{
    const int64_t rows = b->rows;
    const int64_t sequences = b->sequences;
    int64_t parts = 1;

    if (b->parallel)
        parts = max(b->parallel->parts, 1);
    c->w = bound;
    c->b = b;
    c->x = arena;
    c->self_attn_qkv = arena + rows * 32;
    c->self_attn_keys = arena + rows * 128;
    c->self_attn_values = arena + rows * 160 + sequences * 2048;
    c->self_attn = arena + rows * 192 + sequences * 4096;
    c->self_attn_o = arena + rows * 224 + sequences * 4096;
    c->norm1 = arena + rows * 224 + sequences * 4096;
    c->ffn_w1 = arena + rows * 224 + sequences * 4096 + parts * 3072;
    c->ffn_w2 = arena + rows * 224 + sequences * 4096 + parts * 9216;
    c->cross_attn_kv = arena + rows * 32;
    c->scratch = arena + rows * 224 + sequences * 4096 + parts * 12288;
}

static void decode_layout(struct decode *c, const void *bound,
                          const struct attn_batch *b, float *arena)
{
    const int64_t rows = b->rows;
    int64_t parts = 1;

    if (b->parallel)
        parts = max(b->parallel->parts, 1);
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
    c->ffn_w1 = arena + rows * 160 + parts * 3072;
    c->ffn_w2 = arena + rows * 160 + parts * 9216;
    c->logits_selected = arena + rows * 128;
    c->logits_matmul = arena + rows * 32;
    c->scratch = arena + rows * 160 + parts * 12288;
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

#ifndef ATTN_GENERATE_3
#define ATTN_GENERATE_3

struct attn_search_options;

typedef int attn_constrain(void *constraint,
                           const struct attn_search_options *o,
                           const int32_t *answer, int64_t n, float *logits,
                           int64_t vocab);

struct attn_process {
    int64_t min_length;
    int64_t min_total;
    float repetition_penalty;
    int64_t no_repeat_ngram;
    int64_t log_probabilities;
    const int32_t *suppress;
    int64_t suppress_size;
    const int32_t *suppress_first;
    int64_t suppress_first_count;
    const int32_t *forbid;
    int64_t forbid_count;
    attn_constrain *constrain;
    void *constraint;
};

struct attn_sampling {
    float temperature;
    float top_p, min_p;
    int64_t top_k;
    int64_t seed;
};

enum { ATTN_RULE_EXACT = 0, ATTN_RULE_RECORDED = 1 };
enum { ATTN_PENALTY_NONE = 0, ATTN_PENALTY_GNMT = 1, ATTN_PENALTY_POWER = 2 };

enum { ATTN_DRAFT_NONE = 0, ATTN_DRAFT_NGRAM = 1, ATTN_DRAFT_MODEL = 2 };
enum { ATTN_DRAFT_MOST = 15 };

struct attn_drafter {
    const struct attn_model *model;
    const void *bound;
};

struct attn_search_options {
    int64_t beam;
    int64_t results;
    int64_t rule, penalty;
    float alpha;
    int64_t max_output;
    int64_t max_output_plus;
    int64_t max_input;
    float patience;
    int32_t start, end;
    const int32_t *ends;
    int64_t ends_count;
    const int32_t *prefix;
    int64_t prefix_n;
    int64_t want_scores;
    int64_t draft;
    const struct attn_drafter *drafter;
    struct attn_process process;
    struct attn_sampling sampling;
    const struct attn_parallel *parallel;
};

struct attn_hypothesis {
    const int32_t *tokens;
    int64_t n;
    int64_t ended;
    float score;
    float log_probability;
};

struct attn_cache_group {
    struct attn_cache_layout is;
    int64_t which;
    float *pool;
    int32_t *table;
    int32_t *first;
    int32_t *refs;
    int32_t *free_list;
    int64_t pages, free_count;
};
struct attn_cache {
    int32_t *length;
    int64_t slots, width, groups;
    struct attn_cache_group group[ATTN_CACHES];
};

enum {
    ATTN_STREAM_END = -1,
    ATTN_STREAM_FULL = -2
};

struct attn_draft {
    int32_t ids[ATTN_DRAFT_MOST];
    int64_t slot;
    int64_t first, end;
    int64_t next;
    int64_t most;
    int64_t size;
    int64_t credit;
    int64_t pause, pause_after;
    int32_t *source;
    int64_t source_n;
    int32_t *heads, *before;
    int64_t indexed, index_slot;
    struct attn_stream *by;
    void *memory;
    int64_t bytes;
    int64_t gain;
    int64_t proposed, taken;
};

struct attn_stream_room {
    struct attn_cache self, cross;
    int64_t streams, width;
    int32_t source_rows;
    int32_t *tokens;
    int32_t *order;
    float *logits;
    struct attn_draft draft;
    void *arena;
};
struct attn_stream {
    const struct attn_model *model;
    const void *bound;
    struct attn_search_options o;
    const int32_t *stop;
    int64_t stops;
    struct attn_stream_room *room;
    int64_t slot;
    int32_t *tokens;
    int64_t n;
    int64_t lead;
    int64_t read;
    int64_t ended;
};

struct attn_state_header {
    char magic[8];
    uint64_t hash;
    int64_t bytes;
    uint64_t model;
    int64_t format;
    int64_t tokens, lead, read, source_rows;
};

#endif

#ifndef ATTN_HANDLE_2
#define ATTN_HANDLE_2

struct attn_handle;
struct attn_drafter;

struct attn_open_options {
    int64_t threads;
    const struct attn_parallel *parallel;
    int64_t max_input;
    int64_t max_output;
    int64_t max_text;
    int64_t beam;
    int64_t draft;
    const struct attn_drafter *drafter;
    const char *grammar;
    int64_t chat;
    int64_t unchecked;
    int64_t batch;
    int64_t waiting;
    int64_t prompt_rows;
    int64_t cache;
    int64_t prefix_cache;
};

struct attn_event {
    int64_t id;
    int64_t ended;
    int64_t n;
    const int32_t *tokens;
};

struct attn_text_options {
    int64_t task;
    const char *prompt;
};

typedef int attn_take_text(void *user, const char *text, int64_t bytes);
typedef int attn_take_id(void *user, int32_t id);

#endif

/* --------------------------------------------------------------- search --- */

/* memory.h: splits the caller's memory into arrays, and hashes memory. */

/* ---- memory.c ---- */

/* Lays out arrays in the caller's memory, each aligned to 64 bytes. If `base`
 * is NULL, only counts bytes, so that the same code computes sizes. */
struct attn_memory {
    char *base;
    int64_t used; /* bytes so far; -1: the size overflowed */
};
enum { ATTN_ALIGN = 64 };

/* check.h: checks of a caller's arguments, one function per kind of argument.
 * Each returns 0 or an error. An empty list may be NULL.                    */

ATTN_API int attn_check_count(int64_t n, int64_t least, int64_t most);
ATTN_API int attn_check_ids(const int32_t *ids, int64_t n, int64_t vocab);
/* Checks that start[0] is 0, that each following entry is larger by 0 to
 * `longest`, and that start[n] is `rows`. */
ATTN_API int attn_check_starts(const int32_t *start, int64_t n, int64_t rows,
                               int64_t longest);
/* Calls an inner entry if the batch has the lengths for which the model was
 * compiled. The source sequences include the learned rows. */
ATTN_API int attn_enter(const struct attn_model *m, const void *bound,
                        const struct attn_batch *b, void *arena, int decodes);

/* search.h: the search that runs a model, and its parts: caches, logits
 * processors, sampling, beams. */

/* ---- cache.c ---- */

/* The size of a cache. A slot needs ceil(length / 64) pages of each group, or
 * fewer if the group has a window. */
struct attn_cache_size {
    int64_t which; /* owner of the rows: ATTN_SELF or ATTN_CROSS */
    int64_t slots;
    int64_t length; /* maximum positions of a slot */
    int64_t pages;  /* maximum pages of a group; 0: as many as the slots need */
    int64_t rows;   /* maximum rows added to a slot at once; 0: no limit */
};

/* ---- math.c ---- */

enum { ATTN_BLOCK = 64 }; /* logits that attn_any_above() skips together */

/* ---- process.c ---- */

struct attn_process_row { /* a row of logits with its context */
    const struct attn_search_options *search;
    float *logits; /* [vocab], or log-probabilities */
    int64_t vocab;
    const int32_t *tokens; /* [n] start token, a decoder's prompt, and the
                            * answer so far with its prefix */
    int64_t lead, n;       /* number of tokens before the answer; of all */
    int32_t *order; /* [vocab] scratch memory, only for attn_penalises() */
};

/* ---- beam.c, search_memory.c, search.c ---- */

/* The state of the search for one source (beam.c). */
struct attn_candidate { /* an open hypothesis and its next token */
    float sum; /* sum of log-probabilities, including that of the token */
    int32_t parent, token; /* hypothesis and token; token -1: dropped */
};
struct attn_beam {
    const struct attn_search_options *o;
    int64_t limit;  /* maximum tokens of an answer, with the end token */
    int64_t length; /* number of tokens of each open hypothesis */
    int64_t open;   /* number of open hypotheses; 0: the search is done */
    float *sum;     /* [beam] log-probability of each open hypothesis */
    int32_t *tokens, *spare; /* [beam][width] tokens of the open hypotheses;
                                a second buffer */
    int64_t width;
    struct attn_candidate *list; /* [room] best pairs of this step, in order */
    int64_t listed, room;        /* number of pairs in the list; its size:
                                    beam, plus beam for each end token */
    int32_t *answers; /* [results][width] tokens of the best answers */
    int32_t *order;   /* [vocab] scratch memory of sampling, or NULL */
    int64_t recorded, top_ended;  /* answers recorded so far; 1 after the best
                                   * pair of a step has ended */
    struct attn_hypothesis *best; /* [results] the best answers, best first */
    int64_t found;
};

/* Returns the number of rows that the decoder reads before the first token of
 * an answer to a source of `rows` rows. */
ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows);
/* True if a source of `rows` rows gets an answer. An empty source does if the
 * decoder reads a start token and has positions for an answer. */
ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o,
                              int64_t rows);
/* Returns the maximum rows of a source. */
ATTN_API int64_t attn_search_source(const struct attn_model *m);
/* Returns the maximum tokens of an answer to a source of `rows` rows. The last
 * token is never read, so it needs no position. */
ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead);
struct attn_search_request { /* arguments of attn_search() */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    int64_t sentences;
    const int32_t *ids;   /* tokens of the concatenated sentences */
    const float *input;   /* instead of ids for a model that reads numbers:
                             input_width per row */
    const int32_t *start; /* [sentences + 1] first row of each sentence */
    void *memory;
    int64_t bytes; /* at least attn_search_bytes() */
};

/* queue.h: a queue of sources that are answered together, and that come and go
 * one by one. */

/* The size of a queue. */
struct attn_queue_size {
    int64_t seats;   /* maximum sources that are decoded at the same time */
    int64_t places;  /* maximum sources held: those, those that wait, and those
                      * that have ended */
    int64_t rows;    /* maximum rows of all sources held; 0: no limit */
    int64_t longest; /* maximum rows of a source */
    int64_t call;    /* maximum rows of sources, or of prompts, in one call; a
                      * source is never divided; 0: no limit */
    int64_t pages;   /* maximum pages of the self cache; 0: no limit */
    int64_t prefix_pages; /* further pages, for prompts that were read and with
                           * which others may begin; 0: none are kept */
    int64_t draws; /* 1: sources may draw, or penalise repetitions, even if the
                    * queue's options do not */
};

enum { ATTN_PREFIXES = 64 }; /* maximum prompts that are kept */

struct attn_prefix { /* a prompt that was read, in a slot of its own */
    int32_t *tokens;
    int64_t n;    /* 0: none */
    int64_t used; /* time of the last use */
};

struct attn_place { /* a source and the search of its answers */
    struct attn_search_options o;
    struct attn_beam beam;
    int32_t *prompt; /* [rows] the source of a decoder */
    int64_t rows;    /* of the source, with class tokens */
    int64_t pages;   /* maximum pages of the self cache */
    int64_t chosen;  /* 1: this round computes the logits of its last rows */
};

struct attn_queue_list { /* places, in order */
    int32_t *at;
    int64_t n;
};

struct attn_queue {
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o; /* the options of a source without any;
                                          * at most its beam and results, with a
                                          * beam its ends, and draws only if it
                                          * draws */
    struct attn_queue_size size;
    int64_t slots, calls;     /* maximum sequences per call of decode, and of
                               * encode */
    int64_t limit, positions; /* maxima over all sources: tokens of an answer,
                               * positions */
    int64_t encode_rows, prompt_rows; /* maximum rows of sources per call of
                                       * encode, of prompts per call of
                                       * decode */
    int64_t width;                    /* items in a row of a source */
    int64_t reserved;           /* pages that the sources in seats may need */
    struct attn_prefix *prefix; /* [prefixes], in the slots after `slots` */
    int64_t prefixes, prefix_pages; /* maximum number; pages in use */
    int64_t time;                   /* number of uses of prefixes */
    struct attn_cache self, cross;
    struct attn_place *place; /* [places] */
    /* A place is in one of these lists. To be encoded, sources are copied, one
     * after the other, into source_ids or source_input. */
    struct attn_queue_list free, added, waiting, seated, ended;
    struct attn_batch batch; /* the batch of a call, to which the next arrays
                              * belong */
    int32_t *source_ids, *source_start, *source_rows_of;
    float *source_input; /* instead of source_ids, for a model that reads
                          * numbers */
    int32_t *ids, *start, *past, *select, *source;
    int32_t *parents, *scratch;
    int32_t *tokens; /* [positions + 1] tokens before the answer and those of
                      * one hypothesis, for the logits processors */
    float *logits;   /* [slots][target_vocab] logits of each hypothesis */
    int32_t *order;  /* [target_vocab] scratch memory of sampling and of the
                      * repetition penalty, or NULL */
    void *arena;
};

struct attn_queue_request { /* arguments for opening a queue */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    struct attn_queue_size size;
    void *memory;
    int64_t bytes; /* at least attn_queue_bytes() */
};

struct attn_queue_source { /* a source that is added */
    const int32_t *ids;
    const float *input; /* instead of ids for a model that reads numbers:
                           input_width per row */
    int64_t rows;
    const struct attn_search_options *o; /* NULL: those of the queue; what it
                                          * points to has to stay in place */
};

/* ---- search_memory.c ---- */

/* Returns the bytes of memory for a queue, or an error. */
ATTN_API int64_t attn_queue_bytes(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  const struct attn_queue_size *size);
/* Sets the arrays and the caches of a queue whose model, options and size are
 * set. */
ATTN_API void attn_queue_lay_out(struct attn_queue *q, struct attn_memory *at);
/* Checks the options of a source, which may need no more memory per hypothesis
 * than those of the queue. Returns 0 or an error. */
ATTN_API int attn_queue_check(const struct attn_queue *q,
                              const struct attn_search_options *o);
/* Returns the maximum positions of a source's hypothesis. */
ATTN_API int64_t attn_queue_positions(const struct attn_queue *q,
                                      const struct attn_search_options *o,
                                      int64_t rows);

/* ---- prefixes.c ---- */

/* Fills an empty slot with the rows of a prompt that was kept, as many as the
 * first `n` tokens of a source have in common with it. Returns their number. */
ATTN_API int64_t attn_prefix_take(struct attn_queue *q,
                                  const struct attn_place *p, int64_t slot,
                                  int64_t n);
/* Keeps the rows of a slot, which are those of the first tokens of a source, in
 * place of those that were not used for the longest time. */
ATTN_API void attn_prefix_keep(struct attn_queue *q, const struct attn_place *p,
                               int64_t slot);
/* True if a source in a seat before seat i, whose prompt is not read yet,
 * begins with a page of the same tokens more than `have`. */
ATTN_API int attn_prefix_comes(const struct attn_queue *q, int64_t i,
                               int64_t have);

/* stream.h: declarations that streams and their saved states share. */

/* ---- stream.c ---- */

/* True if attn_stream_next() returned an error, and neither END nor FULL. */
ATTN_API int attn_stream_failed(int64_t token);
struct attn_stream_request { /* arguments for opening a stream */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    const int32_t *ids; /* [n] source; for a decoder, the prompt */
    int64_t n;
    int64_t tokens, streams; /* maximum tokens, and number of streams, as for
                              * attn_stream_bytes() */
    void *memory;
    int64_t bytes; /* at least attn_stream_bytes() */
};
/* Makes a stream without tokens in slot 0 of a new room. Ignores the request's
 * ids. Returns 0 or an error. */
ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_stream_request *r,
                               int64_t source_rows);

/* ---- state.c ---- */

struct attn_restore_request { /* arguments for restoring a stream */
    const struct attn_model *model;
    const void *bound;
    const struct attn_search_options *o;
    uint64_t weights; /* hash of the weights, from attn_state_weights() */
    const void *state;
    int64_t bytes;           /* size of the state */
    int64_t tokens, streams; /* maximum tokens, and number of streams, as for
                              * attn_stream_bytes() */
    void *memory;
    int64_t memory_bytes;
};

/* score.h: the rows that a decoder gives for known tokens, and from them the
 * log-probabilities of a given target. */

/* Limits of pairs that are scored together: so many, and no pair is added to so
 * many tokens. */
enum { ATTN_SCORE_PAIRS = 32, ATTN_SCORE_TOKENS = 2048 };

struct attn_score_pair {   /* a source, or a decoder's prompt, and a target */
    const int32_t *source; /* [source_n] */
    int64_t source_n;
    const int32_t *target; /* [target_n], with the end token. The decoder does
                            * not read the last one */
    int64_t target_n;
    int64_t rows; /* number of rows that are given, of those that the decoder
                   * reads the last; 0: target_n */
};

struct attn_score_request { /* pairs, with memory to score them */
    const struct attn_model *model;
    const void *bound;
    int32_t start;         /* start token; -1: none */
    const int32_t *prefix; /* [prefix_n] tokens forced before each target, not
                            * scored */
    int64_t prefix_n;      /* number of tokens in prefix[] */
    const struct attn_score_pair *pair; /* [pairs] */
    int64_t pairs;
    const struct attn_parallel *parallel; /* NULL: one thread */
    void *memory;
    int64_t bytes;          /* at least attn_score_bytes() */
    float *log_probability; /* [target_n of all pairs] of each target token,
                             * written; NAN if no token can be chosen from its
                             * logits */
};

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

ATTN_API int64_t attn_memory(const struct attn_model *m,
                             const struct attn_open_options *o);
ATTN_API int attn_drafter(const struct attn_model *m, struct attn_handle *h,
                          struct attn_drafter *to);
ATTN_API int64_t attn_stream_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t source_rows, int64_t tokens,
                                   int64_t streams);
ATTN_API int64_t attn_stream_next(struct attn_stream *s);

/* memory.c: lays out consecutive arrays in the caller's memory. */

/* Maximum number of bytes, far below INT64_MAX, so that a few sums of sizes
 * cannot overflow. */
static const int64_t memory_most = INT64_MAX / 16;

ATTN_API int64_t attn_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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

/* math.c: exp and log, because C libraries differ in their last bits. Both are
 * bit-identical to the functions in the kernels; attn_exp also covers results
 * up to the largest float. */

/* Computes e^x. x = n ln 2 + r with r in -ln 2 / 2 .. ln 2 / 2, where ln 2 is
 * split into two parts [Cody and Waite 1980]; e^r = 1 + r + r^2 P(r), with P
 * minimax. The result is 0 below the smallest normal number. */
ATTN_API float attn_exp(float x)
{
    union {
        float f;
        uint32_t bits;
    } scale;
    float shift = 0x1.8p+23f; /* adding this rounds to an integer */
    float twice = 1.0f;
    if (x < -0x1.5d589ep+6f)
        return 0.0f;
    if (x > 0x1.62e42ep+6f)
        return INFINITY;
    float t = fmaf(x, 0x1.715476p+0f, shift);
    float n = t - shift;
    float r = fmaf(n, -0x1.62e4p-1f, x);
    r = fmaf(n, -0x1.7f7d1cp-20f, r);
    float p = 0x1.6a4ce4p-10f;
    p = fmaf(p, r, 0x1.123988p-7f);
    p = fmaf(p, r, 0x1.5558bp-5f);
    p = fmaf(p, r, 0x1.555492p-3f);
    p = fmaf(p, r, 0x1.fffffcp-2f);
    p = fmaf(p, r * r, r);
    if (n > 127.0f) { /* 2^128 is not a float */
        t = t - 1.0f;
        twice = 2.0f;
    }
    scale.f = t;
    scale.bits = (scale.bits + 127) << 23;
    return fmaf(p, scale.f, scale.f) * twice;
}

/* Computes ln x. x = 2^k m with m in sqrt(1/2) .. sqrt(2), f = m - 1, s = f /
 * (2 + f): ln m = 2 s + s^3 R(s^2) = f - s (f - s^2 R), with R minimax. */
ATTN_API float attn_log(float x)
{
    union {
        float f;
        int32_t bits;
    } u;
    float k = 0.0f;
    if (x == 0.0f)
        return -INFINITY;
    if (!(x > 0.0f))
        return (x - x) / (x - x); /* returns NaN */
    if (x == INFINITY)
        return x;
    if (x < 0x1p-126f) { /* a subnormal number */
        x = x * 0x1p+25f;
        k = -25.0f;
    }
    u.f = x;
    int32_t above = u.bits - 0x3f3504f3; /* bits of sqrt(1/2) */
    k += (float)(above >> 23);
    u.bits = (above & 0x007fffff) + 0x3f3504f3;
    float f = u.f - 1.0f;
    float s = f / (2.0f + f);
    float z = s * s;
    float r = fmaf(z, 0x1.31dfeap-2f, 0x1.995edap-2f);
    r = fmaf(z, r, 0x1.55557ap-1f);
    float low = fmaf(k, -0x1.7f7d1cp-20f, s * fmaf(-z, r, f));
    return fmaf(k, 0x1.62e4p-1f, f - low);
}

/* Returns a token's log-probability. It is never above 0, despite rounding. */
ATTN_API float attn_log_probability(float logit, float log_sum_exp)
{
    float p = logit - log_sum_exp;
    if (p > 0.0f)
        p = 0.0f;
    return p;
}

/* True if any element is above `least`. Contains no branch, so that compilers
 * vectorise it. */
ATTN_API int attn_any_above(const float *x, int64_t n, float least)
{
    int any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= x[i] > least;
    return any;
}

/* cache.c: reference-counted pages of keys and values, which sequences share.
 *
 * refs[page] is the number of slots whose table contains the page. A slot may
 * write to a page that only it uses. A page used by several slots is full, or
 * is copied before a write; the last of these slots keeps the original. There
 * are never more distinct pages than table entries in use, so slots * width
 * pages are always enough; fewer are enough if a window frees pages.
 *
 * All groups of a cache have the same slots, with the same lengths. */

/* Limits for the rows that one call reads: few enough that windows free their
 * pages early, but enough for efficient products. */
enum { CACHE_LEAST_ROWS = 128, CACHE_MOST_ROWS = 512 };

/* Returns the pages that hold so many positions. */
ATTN_API int64_t attn_cache_pages(int64_t length)
{
    return (length + ATTN_PAGE - 1) / ATTN_PAGE;
}

/* Returns the first page that a slot of `length` positions must keep: the first
 * that the next row reads or, if the last row is read again, the first that the
 * last row reads. */
ATTN_API int64_t attn_cache_first(const struct attn_cache_layout *is,
                                  int64_t length)
{
    if (is->window == 0)
        return 0;
    return attn_max(length - is->window, 0) / ATTN_PAGE;
}

/* Returns the maximum pages that a slot holds at the same time. */
static int64_t cache_slot_pages(const struct attn_cache_layout *is,
                                const struct attn_cache_size *size)
{
    int64_t all = attn_cache_pages(size->length);
    if (is->window == 0 || size->rows == 0)
        return all;
    if (is->window > size->length || size->rows > size->length)
        return all;
    /* + 1 because the first position may be the last of its page */
    return attn_min(all, attn_cache_pages(is->window + size->rows - 1) + 1);
}

static void cache_lay_out(struct attn_cache *c, const struct attn_model *m,
                          const struct attn_cache_size *size,
                          struct attn_memory *memory)
{
    const int64_t word = sizeof(int32_t);
    memset(c, 0, sizeof *c);
    c->slots = size->slots;
    c->width = attn_cache_pages(size->length);
    c->length = attn_take(memory, c->slots, word);
    for (int64_t i = 0; i < m->caches; i++) {
        struct attn_cache_group *g = &c->group[c->groups];
        if (m->cache[i].of != size->which)
            continue;
        g->is = m->cache[i];
        g->which = i;
        g->table = attn_take(memory, c->slots * c->width, word);
        g->first = attn_take(memory, c->slots, word);
        g->pages = c->slots * cache_slot_pages(&g->is, size);
        if (size->pages > 0)
            g->pages = attn_min(g->pages, size->pages);
        g->refs = attn_take(memory, g->pages, word);
        g->free_list = attn_take(memory, g->pages, word);
        g->pool = attn_take(memory, g->pages, g->is.page_bytes);
        c->groups++;
    }
}

/* Returns the bytes of a cache of this size; -1 on overflow. */
ATTN_API int64_t attn_cache_bytes(const struct attn_model *m,
                                  const struct attn_cache_size *size)
{
    struct attn_memory memory;
    struct attn_cache c;
    if (size->slots < 0 || size->length < 0 || size->slots > INT32_MAX
        || size->length > INT32_MAX || size->pages < 0 || size->rows < 0)
        return -1;
    if (size->slots * attn_cache_pages(size->length) > INT32_MAX)
        return -1; /* a table entry is an int32_t */
    attn_memory_open(&memory, NULL);
    cache_lay_out(&c, m, size, &memory);
    return attn_memory_bytes(&memory);
}

/* Makes an empty cache in memory of attn_cache_bytes() bytes, at any
 * alignment. */
ATTN_API void attn_cache_init(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size, void *at)
{
    struct attn_memory memory;
    attn_memory_open(&memory, at);
    cache_lay_out(c, m, size, &memory);
    memset(c->length, 0, (size_t)c->slots * sizeof(int32_t));
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        memset(g->table, 0, (size_t)(c->slots * c->width) * sizeof(int32_t));
        memset(g->first, 0, (size_t)c->slots * sizeof(int32_t));
        memset(g->refs, 0, (size_t)g->pages * sizeof(int32_t));
        for (int64_t q = 0; q < g->pages; q++) /* takes page 0 first */
            g->free_list[q] = (int32_t)(g->pages - 1 - q);
        g->free_count = g->pages;
    }
}

/* Makes an empty cache in memory taken from `at`. */
ATTN_API void attn_cache_take(struct attn_cache *c, const struct attn_model *m,
                              const struct attn_cache_size *size,
                              struct attn_memory *at)
{
    int64_t bytes = attn_cache_bytes(m, size);
    void *memory = attn_take(at, bytes, 1);
    if (memory)
        attn_cache_init(c, m, size, memory);
}

/* Returns the number of floats of both states of a page, padded. */
static int64_t cache_states_floats(const struct attn_cache_group *g)
{
    return (2 * g->is.states + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL;
}

/* Returns the bytes of one element of keys or values. */
ATTN_API int64_t attn_cache_element(const struct attn_cache_layout *is)
{
    return is->format == ATTN_CACHE_INT8 ? 1
         : is->format == ATTN_CACHE_BF16 ? 2
                                         : 4;
}

/* Returns the bytes of the scale of one row of keys or values; 0: it has none.
 */
ATTN_API int64_t attn_cache_scale(const struct attn_cache_layout *is)
{
    return is->format == ATTN_CACHE_INT8 ? (int64_t)sizeof(float) : 0;
}

/* Returns the address of a page. */
ATTN_API float *attn_cache_page(const struct attn_cache_group *g, int64_t page)
{
    return g->pool + page * (g->is.page_bytes / (int64_t)sizeof(float));
}

/* Returns the address of the states that are stored at the end of a page. */
static float *cache_states(const struct attn_cache_group *g, int64_t page)
{
    return attn_cache_page(g, page + 1) - cache_states_floats(g);
}

/* Returns the recurrent layers' states after a row, which must be the last even
 * or the last odd row of its page. */
ATTN_API float *attn_cache_state(const struct attn_cache *c, int64_t slot,
                                 int64_t row)
{
    const struct attn_cache_group *g = &c->group[0];
    const int64_t page = g->table[slot * c->width + row / ATTN_PAGE];
    return cache_states(g, page) + row % 2 * g->is.states;
}

/* Sets the pools and page tables of a batch: sequence i uses slot first + i of
 * the cache. */
ATTN_API void attn_cache_bind(const struct attn_cache *c, int64_t first,
                              struct attn_batch *b)
{
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        b->pool[g->which] = g->pool;
        b->pages[g->which] = g->table + first * c->width;
        b->table[g->which] = c->width;
    }
}

/* Returns the bytes of a page of each cache of ATTN_SELF or ATTN_CROSS. */
ATTN_API int64_t attn_cache_page_bytes(const struct attn_model *m,
                                       int64_t which)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == which)
            bytes += m->cache[i].page_bytes;
    return bytes;
}

/* Returns `length` if another sequence can begin with so many positions of a
 * slot, else 0: if a window has freed pages that it needs, or if these are not
 * all positions and there are recurrent layers, whose states are those after
 * the last one. */
ATTN_API int64_t attn_cache_begun(const struct attn_cache *c, int64_t slot,
                                  int64_t length)
{
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        if (g->is.states > 0 && length < c->length[slot])
            return 0;
        if (attn_cache_first(&g->is, length) < g->first[slot])
            return 0;
    }
    return length;
}

/* Returns the maximum rows of a sequence per call, so that windows can free
 * pages between calls. */
ATTN_API int64_t attn_cache_rows(const struct attn_model *m)
{
    int64_t rows = CACHE_MOST_ROWS;
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].window > 0)
            rows = attn_min(rows, m->cache[i].window / 4);
    return attn_max(rows / ATTN_PAGE * ATTN_PAGE, CACHE_LEAST_ROWS);
}

static int32_t cache_take_page(struct attn_cache_group *g)
{
    g->free_count--;
    int32_t page = g->free_list[g->free_count];
    g->refs[page] = 1;
    memset(cache_states(g, page), 0,
           (size_t)cache_states_floats(g) * sizeof(float));
    return page;
}

static void cache_drop_page(struct attn_cache_group *g, int32_t page)
{
    g->refs[page]--;
    if (g->refs[page] == 0) {
        g->free_list[g->free_count] = page;
        g->free_count++;
    }
}

/* Copies the first `used` positions of a page: complete panels of 16 keys, the
 * rows of values, and the scales of both. */
static void cache_copy_page(const struct attn_cache_group *g, int32_t to,
                            int32_t from, int64_t used)
{
    const int64_t line = ATTN_PANEL * attn_cache_element(&g->is);
    const int64_t panel = g->is.d_k * line;
    const int64_t scale = attn_cache_scale(&g->is);
    const int64_t keys = (used + ATTN_PANEL - 1) / ATTN_PANEL * panel;
    char *out = (char *)attn_cache_page(g, to);
    const char *in = (const char *)attn_cache_page(g, from);

    memcpy(cache_states(g, to), cache_states(g, from),
           (size_t)cache_states_floats(g) * sizeof(float));
    for (int64_t b = 0; b < g->is.blocks; b++) {
        memcpy(out, in, (size_t)keys);
        out += ATTN_PAGE / ATTN_PANEL * panel;
        in += ATTN_PAGE / ATTN_PANEL * panel;
        for (int64_t v = 0; v < g->is.v_panels; v++) {
            memcpy(out, in, (size_t)(used * line));
            out += ATTN_PAGE * line;
            in += ATTN_PAGE * line;
        }
        for (int64_t part = 0; part < 2; part++) {
            memcpy(out, in, (size_t)(used * scale));
            out += ATTN_PAGE * scale;
            in += ATTN_PAGE * scale;
        }
    }
}

struct cache_growth { /* growth of one slot in one group */
    int32_t *table;
    int64_t first; /* first page that is still read; earlier pages are freed */
    int64_t have, want; /* number of pages before and after */
    int64_t used;       /* rows used in the last page; 0: the page is full */
    int copies; /* the last page must be copied: other slots use it too */
};

static void cache_plan_growth(struct cache_growth *w,
                              const struct attn_cache *c,
                              const struct attn_cache_group *g, int64_t slot,
                              int64_t rows)
{
    int64_t length = c->length[slot];
    w->table = g->table + slot * c->width;
    w->first = attn_max(g->first[slot], attn_cache_first(&g->is, length));
    w->have = attn_cache_pages(length);
    w->want = attn_cache_pages(length + rows);
    w->used = length % ATTN_PAGE;
    w->copies = w->used > 0 && rows > 0 && g->refs[w->table[w->have - 1]] > 1;
}

/* True if there are enough pages, counting those that the growth frees. */
static int cache_has_room(const struct cache_growth *w,
                          const struct attn_cache_group *g, int64_t slot)
{
    int64_t free = g->free_count;
    for (int64_t q = g->first[slot]; q < w->first; q++)
        if (g->refs[w->table[q]] == 1)
            free++;
    return w->want - w->have + w->copies <= free;
}

static void cache_grow_group(const struct cache_growth *w,
                             struct attn_cache_group *g, int64_t slot)
{
    for (int64_t q = g->first[slot]; q < w->first; q++)
        cache_drop_page(g, w->table[q]);
    g->first[slot] = (int32_t)w->first;
    if (w->copies) {
        int32_t shared = w->table[w->have - 1];
        int32_t own = cache_take_page(g);
        cache_copy_page(g, own, shared, w->used);
        cache_drop_page(g, shared);
        w->table[w->have - 1] = own;
    }
    for (int64_t q = w->have; q < w->want; q++)
        w->table[q] = cache_take_page(g);
}

/* Adds `rows` positions to a slot, in pages that only this slot uses: a partly
 * filled page that other slots use is copied first. Frees pages that neither
 * the new rows nor the last row before them read. Returns 0, or -1 without any
 * change if there are too few pages or table entries. */
ATTN_API int attn_cache_grow(struct attn_cache *c, int64_t slot, int64_t rows)
{
    struct cache_growth w;
    if (attn_cache_pages(c->length[slot] + rows) > c->width)
        return -1;
    for (int64_t i = 0; i < c->groups; i++) {
        cache_plan_growth(&w, c, &c->group[i], slot, rows);
        if (!cache_has_room(&w, &c->group[i], slot))
            return -1;
    }
    for (int64_t i = 0; i < c->groups; i++) {
        cache_plan_growth(&w, c, &c->group[i], slot, rows);
        cache_grow_group(&w, &c->group[i], slot);
    }
    c->length[slot] += (int32_t)rows;
    return 0;
}

/* Removes the positions at or after `length`. These must be all positions, or
 * part of the last growth and the row before it. */
ATTN_API void attn_cache_cut(struct attn_cache *c, int64_t slot, int64_t length)
{
    int64_t n = attn_cache_pages(c->length[slot]),
            keep = attn_cache_pages(length);
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        for (int64_t q = attn_max(g->first[slot], keep); q < n; q++)
            cache_drop_page(g, g->table[slot * c->width + q]);
        if (length == 0)
            g->first[slot] = 0;
    }
    c->length[slot] = (int32_t)length;
}

ATTN_API void attn_cache_release(struct attn_cache *c, int64_t slot)
{
    attn_cache_cut(c, slot, 0);
}

/* Adds a reference to each page of a slot, and copies the page numbers to
 * `table`. */
static void cache_read_again(const struct attn_cache *c,
                             struct attn_cache_group *g, int64_t slot,
                             int32_t *table)
{
    int64_t n = attn_cache_pages(c->length[slot]);
    for (int64_t q = g->first[slot]; q < n; q++) {
        table[q] = g->table[slot * c->width + q];
        g->refs[table[q]]++;
    }
}

/* Makes slot `to` a copy of slot `from`; they share pages. */
ATTN_API void attn_cache_fork(struct attn_cache *c, int64_t from, int64_t to)
{
    if (from == to)
        return;
    attn_cache_release(c, to);
    for (int64_t i = 0; i < c->groups; i++) {
        struct attn_cache_group *g = &c->group[i];
        cache_read_again(c, g, from, g->table + to * c->width);
        g->first[to] = g->first[from];
    }
    c->length[to] = c->length[from];
}

/* Reorders the slots of one group. `length` has the new length of each slot. */
static void cache_reorder_group(struct attn_cache *c,
                                struct attn_cache_group *g,
                                const int32_t *parent, int64_t n, int64_t of,
                                const int32_t *length, int32_t *scratch)
{
    int32_t *first = scratch + n * c->width;
    for (int64_t i = 0; i < n; i++) { /* count the new references first, */
        first[i] = g->first[parent[i]];
        cache_read_again(c, g, parent[i], scratch + i * c->width);
    }
    for (int64_t i = 0; i < of; i++) { /* so that no page in use is freed */
        int64_t pages = attn_cache_pages(c->length[i]);
        for (int64_t q = g->first[i]; q < pages; q++)
            cache_drop_page(g, g->table[i * c->width + q]);
        g->first[i] = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t pages = attn_cache_pages(length[i]);
        for (int64_t q = first[i]; q < pages; q++)
            g->table[i * c->width + q] = scratch[i * c->width + q];
        g->first[i] = first[i];
    }
}

/* Makes slot i a copy of the former slot parent[i], for all i in 0 .. n - 1 at
 * once. The other slots before `of` become empty; the parents are before
 * `of`, too. Copies only tables. */
ATTN_API void attn_cache_reorder(struct attn_cache *c, const int32_t *parent,
                                 int64_t n, int64_t of, int32_t *scratch)
{
    int32_t *length = scratch + n * (c->width + 1);
    for (int64_t i = 0; i < n; i++)
        length[i] = c->length[parent[i]];
    for (int64_t i = 0; i < c->groups; i++)
        cache_reorder_group(c, &c->group[i], parent, n, of, length, scratch);
    for (int64_t i = 0; i < of; i++) {
        c->length[i] = 0;
        if (i < n)
            c->length[i] = length[i];
    }
}

/* process.c: a table of functions that change a row of logits before the search
 * reads it. -INFINITY forbids a token. To add a function, add a row.        */

/* True if the token ends an answer. */
ATTN_API int attn_ends(const struct attn_search_options *o, int64_t token)
{
    for (int64_t i = 0; i < o->ends_count; i++)
        if (o->ends[i] == token)
            return 1;
    return token == o->end;
}

static int process_has(const struct attn_process_row *r, int32_t token)
{
    return token >= 0 && token < r->vocab;
}

static void process_forbid(const struct attn_process_row *r, int32_t token)
{
    if (process_has(r, token))
        r->logits[token] = -INFINITY;
}

/* True if the repetition penalty is on. */
ATTN_API int attn_penalises(const struct attn_process *p)
{
    return p->repetition_penalty != 0.0f && p->repetition_penalty != 1.0f;
}

/* Makes each token of the row less likely. A repeated token is penalised only
 * at its first place, which is noted in `order`. */
static void process_repetition(const struct attn_process_row *r)
{
    const float penalty = r->search->process.repetition_penalty;
    if (!attn_penalises(&r->search->process))
        return;
    for (int64_t i = r->n - 1; i >= 0; i--)
        if (process_has(r, r->tokens[i]))
            r->order[r->tokens[i]] = (int32_t)i;
    for (int64_t i = 0; i < r->n; i++) {
        const int32_t token = r->tokens[i];
        if (!process_has(r, token) || r->order[token] != i)
            continue;
        float *x = &r->logits[token];
        if (*x >= 0.0f)
            *x = *x / penalty;
        else
            *x = *x * penalty;
    }
}

static void process_min_length(const struct attn_process_row *r)
{
    const struct attn_search_options *o = r->search;
    if (r->n - r->lead >= o->process.min_length && r->n >= o->process.min_total)
        return;
    process_forbid(r, o->end);
    for (int64_t i = 0; i < o->ends_count; i++)
        process_forbid(r, o->ends[i]);
}

static int process_same(const int32_t *a, const int32_t *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Forbids each token that would repeat an n-gram, because it already followed
 * the last size - 1 tokens at an earlier place. */
static void process_ngram(const struct attn_process_row *r)
{
    int64_t size = r->search->process.no_repeat_ngram;
    if (size < 1 || r->n < size)
        return;
    const int32_t *last = r->tokens + r->n - (size - 1);
    for (int64_t i = 0; i + size <= r->n; i++)
        if (process_same(r->tokens + i, last, size - 1))
            process_forbid(r, r->tokens[i + size - 1]);
}

/* Forbids the last token of a suppressed sequence if the row ends in the
 * sequence's other tokens. */
static void process_suppress(const struct attn_process_row *r)
{
    const int32_t *at = r->search->process.suppress;
    int64_t left = r->search->process.suppress_size;
    while (left > 0) {
        int64_t length = at[0];
        if (length < 1 || length >= left)
            return;
        int64_t before = length - 1;
        if (r->n >= before
            && process_same(at + 1, r->tokens + r->n - before, before))
            process_forbid(r, at[length]);
        at += 1 + length;
        left -= 1 + length;
    }
}

static void process_first(const struct attn_process_row *r)
{
    const struct attn_process *p = &r->search->process;
    if (r->n - r->lead != r->search->prefix_n)
        return;
    for (int64_t i = 0; i < p->suppress_first_count; i++)
        process_forbid(r, p->suppress_first[i]);
}

/* The penalty comes first, because it needs the logits before other functions
 * set them to -INFINITY. */
static void (*const process_table[])(const struct attn_process_row *) = {
    process_repetition, process_min_length, process_ngram,
    process_suppress,   process_first,
};

/* Checks the suppressed sequences, each of which is preceded by its length. */
static int process_check_suppress(const struct attn_process *p, int64_t vocab)
{
    const int32_t *at = p->suppress;
    int64_t left = p->suppress_size;
    if (left < 0)
        return ATTN_ERROR_COUNT;
    if (left > 0 && !at)
        return ATTN_ERROR_NULL;
    while (left > 0) {
        int64_t length = at[0];
        if (length < 1 || length >= left)
            return ATTN_ERROR_TABLE;
        int wrong = attn_check_ids(at + 1, length, vocab);
        if (wrong)
            return wrong;
        at += 1 + length;
        left -= 1 + length;
    }
    return 0;
}

/* Checks the options. Returns 0 or an error. */
ATTN_API int attn_check_process(const struct attn_process *p, int64_t vocab)
{
    float penalty = p->repetition_penalty;
    if (!(penalty >= 0.0f) || penalty == INFINITY)
        return ATTN_ERROR_OPTION;
    if (p->min_length < 0 || p->min_total < 0 || p->no_repeat_ngram < 0)
        return ATTN_ERROR_OPTION;
    int wrong = process_check_suppress(p, vocab);
    if (wrong)
        return wrong;
    wrong = attn_check_ids(p->suppress_first, p->suppress_first_count, vocab);
    if (wrong)
        return wrong;
    return attn_check_ids(p->forbid, p->forbid_count, vocab);
}

/* True if a token can be chosen: no logit is NaN or INFINITY, and at least one
 * is finite. -INFINITY marks a token that the model never produces.         */
ATTN_API int attn_logits_finite(const float *logits, int64_t n)
{
    const float most = INFINITY;
    int wrong = 0, some = 0;
    for (int64_t i = 0; i < n; i++) {
        wrong |= !(logits[i] < most);
        some |= logits[i] > -most;
    }
    if (wrong)
        return 0;
    return some;
}

/* Runs the logits processors on a row. Returns 0, or ATTN_ERROR_GRAMMAR if
 * o->process.constrain allows no token. */
ATTN_API int attn_process_logits(const struct attn_process_row *r)
{
    const struct attn_process *p = &r->search->process;
    for (size_t i = 0; i < sizeof process_table / sizeof *process_table; i++)
        process_table[i](r);
    if (!p->constrain)
        return 0;
    const int wrong = p->constrain(p->constraint, r->search,
                                   r->tokens + r->lead, r->n - r->lead,
                                   r->logits, r->vocab);
    return wrong ? ATTN_ERROR_GRAMMAR : 0;
}

/* Forbids the tokens in `forbid`. Called after the probabilities are computed,
 * so that no other token gets their share, and the score of an answer equals
 * that of attn_score. */
ATTN_API void attn_forbid_logits(const struct attn_search_options *o,
                                 float *logits, int64_t vocab)
{
    for (int64_t i = 0; i < o->process.forbid_count; i++) {
        int32_t token = o->process.forbid[i];
        if (token >= 0 && token < vocab && !attn_ends(o, token))
            logits[token] = -INFINITY;
    }
}

/* sampling.c: draws a token from a row of logits. The same seed draws the same
 * token on every machine: exp is that of math.c, sums have a fixed order, and
 * equal logits are ordered by token id. */

struct sampling {
    const struct attn_sampling *o;
    const float *logits;
    int32_t *order; /* [n] the first heap_n: a heap; then the tokens removed
                     * from it */
    int64_t n, heap_n;
    float largest;
};

/* True if all members are in range. */
ATTN_API int attn_sampling_fits(const struct attn_sampling *o)
{
    if (!(o->temperature >= 0.0f) || o->temperature == INFINITY)
        return 0;
    if (!(o->top_p >= 0.0f) || !(o->top_p <= 1.0f))
        return 0;
    if (!(o->min_p >= 0.0f) || !(o->min_p <= 1.0f))
        return 0;
    return o->top_k >= 0;
}

/* ---- random bits ---- */

static uint64_t sampling_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Returns a number from SplitMix64 [Steele, Lea, Flood 2014], here a function
 * of a counter. */
ATTN_API double attn_random(int64_t seed, int64_t counter)
{
    const uint64_t gamma = 0x9e3779b97f4a7c15ull;
    uint64_t x = sampling_mix((uint64_t)seed + gamma);
    x = sampling_mix(x + ((uint64_t)counter + 1) * gamma);
    return (double)(int64_t)(x >> 11) * 0x1p-53;
}

/* ---- order ---- */

static int sampling_before(const struct sampling *s, int32_t a, int32_t b)
{
    if (s->logits[a] == s->logits[b])
        return a < b;
    return s->logits[a] > s->logits[b];
}

static void sampling_down(struct sampling *s, int64_t at)
{
    int32_t token = s->order[at];
    for (;;) {
        int64_t below = 2 * at + 1;
        if (below >= s->heap_n)
            break;
        if (below + 1 < s->heap_n) {
            if (sampling_before(s, s->order[below + 1], s->order[below]))
                below++;
        }
        if (!sampling_before(s, s->order[below], token))
            break;
        s->order[at] = s->order[below];
        at = below;
    }
    s->order[at] = token;
}

/* Makes a heap of all tokens that are not forbidden. */
static void sampling_begin(struct sampling *s, int64_t vocab)
{
    s->n = 0;
    for (int64_t t = 0; t < vocab; t++) {
        if (s->logits[t] > -INFINITY) {
            s->order[s->n] = (int32_t)t;
            s->n++;
        }
    }
    s->heap_n = s->n;
    for (int64_t i = s->n / 2 - 1; i >= 0; i--)
        sampling_down(s, i);
    if (s->n > 0)
        s->largest = s->logits[s->order[0]];
}

/* Returns the i-th best token. Sorts only as far as necessary. */
static int32_t sampling_at(struct sampling *s, int64_t i)
{
    while (s->n - s->heap_n <= i) {
        int32_t first = s->order[0];
        s->heap_n--;
        s->order[0] = s->order[s->heap_n];
        s->order[s->heap_n] = first;
        if (s->heap_n > 1)
            sampling_down(s, 0);
    }
    return s->order[s->n - 1 - i];
}

/* ---- mass ---- */

/* Returns a token's probability divided by that of the best token. */
static double sampling_weight(const struct sampling *s, int32_t token)
{
    float x = (s->logits[token] - s->largest) / s->o->temperature;
    return (double)attn_exp(x);
}

static double sampling_sum(struct sampling *s, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++)
        sum += sampling_weight(s, sampling_at(s, i));
    return sum;
}

/* Returns the sum of the weights of all tokens, in the order of their ids, so
 * that the heap need not be sorted. */
static double sampling_sum_all(const struct sampling *s, int64_t vocab)
{
    double sum = 0.0;
    for (int64_t t = 0; t < vocab; t++)
        if (s->logits[t] > -INFINITY)
            sum += sampling_weight(s, (int32_t)t);
    return sum;
}

/* Returns how many of the first n tokens to keep: up to the token at which
 * their share of *mass reaches top_p, and only tokens at least min_p times as
 * probable as the best. Sets *mass to the sum of their weights. */
static int64_t sampling_cut(struct sampling *s, int64_t n, double *mass)
{
    double enough = *mass * (double)s->o->top_p, sum = 0.0;
    int64_t kept = 0;
    while (kept < n) {
        double weight = sampling_weight(s, sampling_at(s, kept));
        if (weight < (double)s->o->min_p)
            break;
        sum += weight;
        kept++;
        if (enough > 0.0) {
            if (sum >= enough)
                break;
        }
    }
    *mass = sum;
    return kept;
}

static int64_t sampling_draw(struct sampling *s, int64_t vocab, double u)
{
    int64_t n = s->n;
    double mass, sum = 0.0;
    if (s->o->top_k > 0) {
        n = attn_min(n, s->o->top_k);
        mass = sampling_sum(s, n);
    } else {
        mass = sampling_sum_all(s, vocab);
    }
    if (s->o->top_p > 0.0f || s->o->min_p > 0.0f)
        n = sampling_cut(s, n, &mass);
    int64_t drawn = 0;
    for (int64_t i = 0; i < n; i++) {
        double weight = sampling_weight(s, sampling_at(s, i));
        if (weight == 0.0)
            break; /* the weights of all later tokens are 0 too */
        drawn = i;
        sum += weight;
        if (sum > u * mass)
            break;
    }
    return sampling_at(s, drawn);
}

/* Returns the first of the largest logits, or -1 if all are -INFINITY. */
static int64_t sampling_best(const float *logits, int64_t vocab)
{
    int64_t best = -1;
    float largest = -INFINITY;
    for (int64_t from = 0; from < vocab; from += ATTN_BLOCK) {
        int64_t to = attn_min(from + ATTN_BLOCK, vocab);
        if (!attn_any_above(logits + from, to - from, largest))
            continue;
        for (int64_t t = from; t < to; t++) {
            if (logits[t] > largest) {
                largest = logits[t];
                best = t;
            }
        }
    }
    return best;
}

/* Returns the drawn token, or -1 if no token is allowed. `counter` is the
 * number of tokens in the answer so far; `order` [vocab] is scratch memory. */
ATTN_API int64_t attn_sample(const struct attn_sampling *o, const float *logits,
                             int64_t vocab, int64_t counter, int32_t *order)
{
    struct sampling s;
    if (!(o->temperature > 0.0f))
        return sampling_best(logits, vocab);
    s.o = o;
    s.logits = logits;
    s.order = order;
    sampling_begin(&s, vocab);
    if (s.n == 0)
        return -1;
    return sampling_draw(&s, vocab, attn_random(o->seed, counter));
}

/* beam.c: the search rules for one sentence.
 *
 * A step extends every open hypothesis by every token and lists the best of
 * these pairs. The rule takes answers and the next open hypotheses from the
 * list. Among equal sums, the lower hypothesis comes first, then the lower
 * token. */

static float beam_power(float x, float alpha)
{
    if (alpha == 1.0f) /* exact, without exp and log */
        return x;
    return attn_exp(alpha * attn_log(x));
}

/* Returns the divisor for a log-probability of `length` tokens. */
ATTN_API float attn_length_divisor(const struct attn_search_options *o,
                                   int64_t length)
{
    float n = (float)length;
    if (o->penalty == ATTN_PENALTY_GNMT) /* [Wu et al. 2016] */
        return beam_power((5.0f + n) / 6.0f, o->alpha);
    if (o->penalty == ATTN_PENALTY_POWER && length > 0)
        return beam_power(n, o->alpha);
    return 1.0f;
}

/* ---- the list of a step ---- */

static void beam_insert(struct attn_beam *b, float sum, int32_t parent,
                        int32_t token)
{
    int64_t i = b->listed;
    if (i == b->room)
        i--; /* drops the last one */
    else
        b->listed++;
    for (; i > 0; i--) {
        if (!(sum > b->list[i - 1].sum))
            break;
        b->list[i] = b->list[i - 1];
    }
    b->list[i].sum = sum;
    b->list[i].parent = parent;
    b->list[i].token = token;
}

/* Lists the best token, or a sampled one. Computes its log-probability only if
 * scores are requested. */
static void beam_offer_best(struct attn_beam *b, const float *logits,
                            int64_t vocab, float log_sum_exp)
{
    int64_t best = attn_sample(&b->o->sampling, logits, vocab, b->length,
                               b->order);
    if (best < 0)
        return;
    float sum = b->sum[0];
    if (b->o->want_scores)
        sum += attn_log_probability(logits[best], log_sum_exp);
    beam_insert(b, sum, 0, (int32_t)best);
}

/* Once the sum for a token was too low for the list, skips all logits that are
 * not above this token's. */
ATTN_API void attn_beam_offer(struct attn_beam *b, int32_t parent,
                              const float *logits, int64_t vocab,
                              float log_sum_exp)
{
    float refused = -INFINITY;
    if (b->o->beam == 1) {
        beam_offer_best(b, logits, vocab, log_sum_exp);
        return;
    }
    for (int64_t from = 0; from < vocab; from += ATTN_BLOCK) {
        int64_t to = attn_min(from + ATTN_BLOCK, vocab);
        if (!attn_any_above(logits + from, to - from, refused))
            continue;
        for (int64_t t = from; t < to; t++) {
            if (!(logits[t] > refused))
                continue;
            float sum = b->sum[parent]
                      + attn_log_probability(logits[t], log_sum_exp);
            float least = -INFINITY;
            if (b->listed == b->room)
                least = b->list[b->room - 1].sum;
            if (sum > least)
                beam_insert(b, sum, parent, (int32_t)t);
            else
                refused = logits[t];
        }
    }
}

/* ---- the answers ---- */

/* Records hypothesis `parent`, followed by `token` unless it is -1, as an
 * answer. */
ATTN_API void attn_beam_record(struct attn_beam *b, int32_t parent,
                               int32_t token, float sum)
{
    int64_t n = b->length;
    int64_t length = n; /* with the end token */
    int ended = 0;
    if (token >= 0) {
        length = n + 1;
        ended = attn_ends(b->o, token);
    }
    float score = sum / attn_length_divisor(b->o, length);

    int64_t rank = b->found;
    while (rank > 0) {
        if (!(score > b->best[rank - 1].score))
            break;
        rank--;
    }
    b->recorded++;
    if (rank == b->o->results)
        return;
    int64_t last = b->found;
    if (last == b->o->results)
        last--;
    else
        b->found++;
    /* The new answer reuses the token buffer of the dropped answer. */
    int32_t *tokens = (int32_t *)b->best[last].tokens;
    for (int64_t i = last; i > rank; i--)
        b->best[i] = b->best[i - 1];

    memcpy(tokens, b->tokens + parent * b->width, (size_t)n * sizeof *tokens);
    if (token >= 0 && !ended) {
        tokens[n] = token;
        n++;
    }
    struct attn_hypothesis *h = &b->best[rank];
    h->tokens = tokens;
    h->n = n;
    h->ended = ended;
    h->score = score;
    h->log_probability = sum;
}

/* ---- rules ---- */

/* True if pair i of the list ends an answer, because of its token or the length
 * limit. */
static int beam_ends(const struct attn_beam *b, int64_t i)
{
    if (attn_ends(b->o, b->list[i].token))
        return 1;
    return b->length + 1 == b->limit;
}

static void beam_record_listed(struct attn_beam *b, int64_t i)
{
    const struct attn_candidate *c = &b->list[i];
    attn_beam_record(b, c->parent, c->token, c->sum);
}

/* Returns the best score that a hypothesis with this sum could still reach. The
 * sum can only fall, so the bound divides it by the largest divisor of any
 * later length. */
static float beam_bound(const struct attn_beam *b, float sum)
{
    float near = attn_length_divisor(b->o, b->length + 2);
    float far = attn_length_divisor(b->o, b->limit);
    if (near > far)
        return sum / near;
    return sum / far;
}

/* The exact rule: all pairs of the list that end are answers, and the best
 * `beam` other pairs stay open. The search stops when no open hypothesis can
 * beat the worst of the best answers, because continuing would not change the
 * result. */
static int64_t beam_exact(struct attn_beam *b)
{
    int64_t open = 0;
    for (int64_t i = 0; i < b->listed; i++) {
        int by_token = attn_ends(b->o, b->list[i].token);
        if (!by_token && open == b->o->beam)
            continue;
        if (beam_ends(b, i))
            beam_record_listed(b, i);
        if (!by_token) {
            b->list[open] = b->list[i];
            open++;
        }
    }
    if (open == 0 || b->length + 1 == b->limit)
        return 0;
    if (b->found < b->o->results)
        return open;
    if (beam_bound(b, b->list[0].sum) > b->best[b->found - 1].score)
        return open;
    return 0;
}

static int64_t beam_round(float x)
{
    return (int64_t)(x + 0.5f);
}

/* After forced tokens, drops every ending pair that is not first in the list.
 * Its place stays empty. */
static void beam_drop_early_ends(struct attn_beam *b)
{
    for (int64_t i = 1; i < b->listed; i++)
        if (attn_ends(b->o, b->list[i].token))
            b->list[i].token = -1;
}

static int beam_recorded_done(const struct attn_beam *b)
{
    int64_t enough = beam_round((float)b->o->beam * b->o->patience);
    if (b->length + 1 == b->limit)
        return 1;
    if (b->o->penalty == ATTN_PENALTY_NONE || b->o->alpha == 0.0f) {
        if (!b->top_ended)
            return 0;
        enough = b->o->results;
    }
    return b->recorded >= enough;
}

/* CTranslate2's rule: of the first `beam` pairs of the list, those that end are
 * answers. The next pair after the first `beam` that does not end takes the
 * place of each. */
static int64_t beam_recorded(struct attn_beam *b)
{
    int64_t next = b->o->beam;
    int64_t open = 0;
    if (b->length > 0 && b->length == b->o->prefix_n)
        beam_drop_early_ends(b);
    for (int64_t i = 0; i < b->listed && i < b->o->beam; i++) {
        int64_t from = i;
        if (b->list[i].token < 0)
            continue;
        if (beam_ends(b, i)) {
            beam_record_listed(b, i);
            if (i == 0)
                b->top_ended = 1;
            while (next < b->listed && attn_ends(b->o, b->list[next].token))
                next++;
            from = next;
            next++;
        }
        if (from < b->listed && b->list[from].token >= 0) {
            b->list[open] = b->list[from];
            open++;
        }
    }
    if (beam_recorded_done(b))
        open = 0;
    return open;
}

static int64_t beam_greedy(struct attn_beam *b)
{
    if (!beam_ends(b, 0))
        return 1;
    beam_record_listed(b, 0);
    return 0;
}

static int64_t (*const beam_rules[])(struct attn_beam *) = { beam_exact,
                                                             beam_recorded };

/* Ends a step: records answers, extends the hypotheses that stay open, stores
 * the parent of each, and sets `open` to 0 if the search is done. */
ATTN_API void attn_beam_advance(struct attn_beam *b, int32_t *parents)
{
    int64_t open = 0;
    if (b->listed == 0) { /* no token is allowed */
        for (int64_t i = 0; i < b->open; i++)
            attn_beam_record(b, (int32_t)i, -1, b->sum[i]);
    } else if (b->o->beam == 1) {
        open = beam_greedy(b);
    } else {
        open = beam_rules[b->o->rule](b);
    }
    for (int64_t i = 0; i < open; i++) {
        const struct attn_candidate *c = &b->list[i];
        int32_t *to = b->spare + i * b->width;
        memcpy(to, b->tokens + c->parent * b->width,
               (size_t)b->length * sizeof *to);
        to[b->length] = c->token;
        b->sum[i] = c->sum;
        parents[i] = c->parent;
    }
    int32_t *tokens = b->tokens;
    b->tokens = b->spare;
    b->spare = tokens;
    b->open = open;
    b->length++;
    b->listed = 0;
}

/* queue.c: holds sources that come and go. A source is encoded with others that
 * were added, waits for a free seat, and has it until its answer has ended.
 *
 * Slot i of the self cache is sequence i of the batch: the open hypotheses, in
 * the order of the seats. A new source takes the slot behind them. The cross
 * cache has one slot per place, and one per source of a call of encode, from
 * which the place then takes the pages.
 *
 * If the code has a fixed batch size, copies of the first source fill the call
 * of encode, and all sources in seats began in the same round. */

/* ---- lists ---- */

static void queue_push(struct attn_queue_list *l, int64_t place)
{
    l->at[l->n] = (int32_t)place;
    l->n++;
}

static int64_t queue_remove(struct attn_queue_list *l, int64_t i)
{
    const int32_t place = l->at[i];
    l->n--;
    memmove(l->at + i, l->at + i + 1, (size_t)(l->n - i) * sizeof *l->at);
    return place;
}

/* Returns the index of a place in the list; -1: it is not there. */
static int64_t queue_find(const struct attn_queue_list *l, int64_t place)
{
    for (int64_t i = 0; i < l->n; i++)
        if (l->at[i] == place)
            return i;
    return -1;
}

/* Returns the source in seat i. */
ATTN_API struct attn_place *attn_queue_seat(const struct attn_queue *q,
                                            int64_t i)
{
    return &q->place[q->seated.at[i]];
}

/* Returns token j of the decoder's input for hypothesis h: the tokens before
 * the answer, then the answer. */
ATTN_API int32_t attn_queue_token(const struct attn_place *p, int64_t h,
                                  int64_t j)
{
    if (p->o.start >= 0) {
        if (j == 0)
            return p->o.start;
        j--;
    }
    if (p->prompt) {
        if (j < p->rows)
            return p->prompt[j];
        j -= p->rows;
    }
    return p->beam.tokens[h * p->beam.width + j];
}

static int queue_encodes(const struct attn_queue *q)
{
    return q->model->kind == ATTN_ENCODER_DECODER;
}

/* ---- sources ---- */

/* Makes an empty queue. Returns 0 or an error. */
ATTN_API int attn_queue_open(struct attn_queue *q,
                             const struct attn_queue_request *r)
{
    struct attn_memory at;
    const int64_t need = attn_queue_bytes(r->model, r->o, &r->size);
    if (need < 0)
        return (int)need;
    if (!r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    memset(q, 0, sizeof *q);
    q->model = r->model;
    q->bound = r->bound;
    q->o = r->o;
    q->size = r->size;
    attn_memory_open(&at, r->memory);
    attn_queue_lay_out(q, &at);
    q->batch.parallel = r->o->parallel;
    q->source_start[0] = 0;
    for (int64_t i = 0; i < q->prefixes; i++)
        q->prefix[i].n = 0;
    for (int64_t i = 0; i < q->size.places; i++)
        queue_push(&q->free, i);
    return 0;
}

/* True if the queue can hold another source of `rows` rows. */
ATTN_API int attn_queue_takes(const struct attn_queue *q, int64_t rows)
{
    const int64_t added = q->added.n;
    if (q->free.n == 0)
        return 0;
    return added == 0 || !queue_encodes(q)
        || (added < q->size.seats
            && q->source_start[added] + rows + q->model->class_token
                   <= q->encode_rows);
}

/* Copies the rows of a source: a decoder's to its prompt, others to row `at` of
 * the sources of a call, after zeros for the learned rows. Returns 0 or an
 * error. */
static int queue_copy(struct attn_queue *q, const struct attn_queue_source *s,
                      int64_t rows, int64_t at, int32_t *prompt)
{
    const struct attn_model *m = q->model;
    const int64_t width = m->input_width;
    if (width > 0) {
        const int64_t learned = m->class_token * width;
        float *to = q->source_input + at * width;
        if (rows > 0 && !s->input)
            return ATTN_ERROR_NULL;
        if (rows > 0) {
            memset(to, 0, (size_t)learned * sizeof *to);
            memcpy(to + learned, s->input, (size_t)(rows * width) * sizeof *to);
        }
        return 0;
    }
    const int wrong = attn_check_ids(s->ids, rows,
                                     m->kind == ATTN_DECODER ? m->target_vocab
                                                             : m->source_vocab);
    if (wrong == 0 && rows > 0)
        memcpy(prompt ? prompt : q->source_ids + at, s->ids,
               (size_t)rows * sizeof *prompt);
    return wrong;
}

/* Opens one hypothesis with the forced tokens. A source for which
 * attn_search_asks() is false has no answer. If the prefix reaches the limit,
 * it is the answer. Returns 0 or an error. */
static int queue_begin(const struct attn_queue *q, struct attn_place *p,
                       int64_t rows)
{
    const struct attn_search_options *o = &p->o;
    const int64_t forced = o->prefix_n;
    const int64_t lead = attn_search_lead(q->model, o, rows);
    struct attn_beam *b = &p->beam;

    b->o = o;
    b->room = attn_min((2 + o->ends_count) * o->beam,
                       (2 + q->o->ends_count) * q->o->beam);
    b->limit = attn_search_limit(q->model, o, rows, lead);
    b->open = 0;
    b->found = 0;
    b->listed = 0;
    b->recorded = 0;
    b->top_ended = 0;
    for (int64_t r = 0; r < q->o->results; r++)
        b->best[r].tokens = b->answers + r * b->width;
    p->pages = 0;
    if (!attn_search_asks(q->model, o, rows))
        return 0;
    if (b->limit < 1 || forced > b->limit)
        return ATTN_ERROR_LENGTH;
    const int64_t positions = attn_queue_positions(q, o, rows);
    p->pages = o->beam * attn_cache_pages(positions);
    if (b->limit > b->width || positions > q->positions
        || (q->size.pages > 0 && p->pages > q->size.pages))
        return ATTN_ERROR_ROOM;
    b->length = forced;
    b->sum[0] = 0.0f;
    if (forced > 0)
        memcpy(b->tokens, o->prefix, (size_t)forced * sizeof *b->tokens);
    if (forced == b->limit)
        attn_beam_record(b, 0, -1, 0.0f);
    else
        b->open = 1;
    return 0;
}

/* Adds a source, which is copied. Returns its place, or an error:
 * ATTN_ERROR_ROOM if attn_queue_takes() is false, if the answer may need more
 * pages than there are, or if the options are beyond those of the queue. */
ATTN_API int64_t attn_queue_add(struct attn_queue *q,
                                const struct attn_queue_source *s)
{
    int64_t rows = s->rows, at = q->source_start[q->added.n];
    if (rows < 0)
        return ATTN_ERROR_COUNT;
    if (q->free.n == 0)
        return ATTN_ERROR_ROOM;
    const int64_t place = q->free.at[0];
    struct attn_place *p = &q->place[place];
    int wrong = s->o ? attn_queue_check(q, s->o) : 0;
    if (wrong)
        return wrong;
    p->o = s->o ? *s->o : *q->o;
    if (p->o.max_input > 0)
        rows = attn_min(rows, p->o.max_input);
    if (rows > attn_search_source(q->model))
        return ATTN_ERROR_LENGTH;
    if (rows > q->size.longest || !attn_queue_takes(q, rows))
        return ATTN_ERROR_ROOM;
    wrong = queue_begin(q, p, rows);
    if (wrong == 0)
        wrong = queue_copy(q, s, rows, at, p->prompt);
    if (wrong)
        return wrong;
    queue_remove(&q->free, 0);
    p->rows = rows > 0 ? rows + q->model->class_token : 0;
    if (p->beam.open == 0) {
        queue_push(&q->ended, place);
    } else if (queue_encodes(q)) {
        queue_push(&q->added, place);
        q->source_start[q->added.n] = (int32_t)(at + p->rows);
    } else {
        q->source_rows_of[place] = (int32_t)p->rows;
        queue_push(&q->waiting, place);
    }
    return place;
}

/* Gives the encoded rows in a slot to a place. */
static void queue_encoded(struct attn_queue *q, int64_t slot, int64_t place)
{
    if (q->place[place].beam.open == 0) { /* dropped */
        queue_push(&q->ended, place);
        return;
    }
    attn_cache_fork(&q->cross, slot, place);
    q->source_rows_of[place] = (int32_t)q->place[place].rows;
    queue_push(&q->waiting, place);
}

/* Encodes all sources that were added. */
static int queue_encode(struct attn_queue *q)
{
    struct attn_batch *b = &q->batch;
    const int64_t first = q->size.places, n = q->added.n;
    int64_t sources = n;
    b->sequences = sources;
    b->rows = q->source_start[sources];
    b->start = q->source_start;
    b->ids = q->source_ids;
    b->input = q->source_input;
    attn_cache_bind(&q->cross, first, b);
    for (int64_t i = 0; i < sources; i++)
        if (attn_cache_grow(&q->cross, first + i,
                            q->source_start[i + 1] - q->source_start[i])
            < 0)
            return ATTN_ERROR_ROOM;
    if (b->rows > 0) {
        const int wrong = attn_enter(q->model, q->bound, b, q->arena, 0);
        if (wrong)
            return wrong;
    }
    for (int64_t i = 0; i < sources; i++) {
        if (i < n)
            queue_encoded(q, first + i, q->added.at[i]);
        attn_cache_release(&q->cross, first + i);
    }
    q->added.n = 0;
    return 0;
}

/* Gives free seats to the sources that have waited longest, and encodes those
 * that were added if none waits. Returns 0 or an error. */
ATTN_API int attn_queue_admit(struct attn_queue *q)
{
    while (q->seated.n < q->size.seats) {
        if (q->waiting.n == 0) {
            if (q->added.n == 0)
                break;
            const int wrong = queue_encode(q);
            if (wrong)
                return wrong;
        }
        if (q->waiting.n == 0) /* all were dropped */
            continue;
        const int64_t pages = q->place[q->waiting.at[0]].pages;
        if (q->size.pages > 0 && q->reserved + pages > q->size.pages)
            break;
        q->reserved += pages;
        queue_push(&q->seated, queue_remove(&q->waiting, 0));
    }
    return 0;
}

/* ---- end ---- */

/* Frees the seats of the sources without open hypotheses. `stay` slots remain,
 * copies of the slots q->parents[]. */
ATTN_API void attn_queue_leave(struct attn_queue *q, int64_t stay)
{
    int64_t i = 0;
    attn_cache_reorder(&q->self, q->parents, stay, q->slots, q->scratch);
    while (i < q->seated.n) {
        const struct attn_place *p = attn_queue_seat(q, i);
        if (p->beam.open > 0) {
            i++;
            continue;
        }
        q->reserved -= p->pages;
        const int64_t place = queue_remove(&q->seated, i);
        if (queue_encodes(q))
            attn_cache_release(&q->cross, place);
        queue_push(&q->ended, place);
    }
}

/* Returns the place of a source that has ended, each once; -1: there is none.
 * The answers are beam.best[beam.found] of the place, best first, until
 * attn_queue_free(); found is ATTN_ERROR_FINITE if there are none because
 * logits were invalid, ATTN_ERROR_GRAMMAR if no token could follow. */
ATTN_API int64_t attn_queue_take(struct attn_queue *q)
{
    return q->ended.n > 0 ? queue_remove(&q->ended, 0) : -1;
}

/* Frees a place that was taken. */
ATTN_API void attn_queue_free(struct attn_queue *q, int64_t place)
{
    queue_push(&q->free, place);
}

/* Stores slot i as its own parent, but for the slots of a place. Returns the
 * number of slots that stay. */
static int64_t queue_all_but(struct attn_queue *q, int64_t place)
{
    int64_t slot = 0, stay = 0;
    for (int64_t i = 0; i < q->seated.n; i++)
        for (int64_t h = 0; h < attn_queue_seat(q, i)->beam.open; h++) {
            q->parents[stay] = (int32_t)slot;
            stay += q->seated.at[i] != place;
            slot++;
        }
    return stay;
}

/* Ends a source that has not ended, without answers. */
ATTN_API void attn_queue_drop(struct attn_queue *q, int64_t place)
{
    struct attn_beam *b = &q->place[place].beam;
    const int64_t waits = queue_find(&q->waiting, place);
    const int64_t stay = queue_all_but(q, place);
    b->open = 0;
    b->found = 0;
    if (waits >= 0) {
        queue_remove(&q->waiting, waits);
        if (queue_encodes(q))
            attn_cache_release(&q->cross, place);
        queue_push(&q->ended, place);
    } else if (queue_find(&q->seated, place) >= 0) {
        attn_queue_leave(q, stay);
    }
}

/* True if a source has not ended. */
ATTN_API int attn_queue_busy(const struct attn_queue *q)
{
    return q->added.n + q->waiting.n + q->seated.n > 0;
}

/* queue_round.c: a round reads rows of prompts, and decodes a token of every
 * open answer, until the rule (beam.c) of its source is done.
 *
 * If the code has a fixed batch size, hypotheses of one token fill the batch.
 * Their logits are ignored. */

/* ---- rows ---- */

/* Returns the number of tokens of the open hypothesis in a slot that are not
 * yet in the cache. */
static int64_t queue_unread(const struct attn_queue *q,
                            const struct attn_place *p, int64_t slot)
{
    return attn_search_lead(q->model, &p->o, p->rows) + p->beam.length
         - q->self.length[slot];
}

/* Adds the next `n` tokens of hypothesis h in seat i to the batch, in sequence
 * `slot`. Returns 0, or -1 if there is no room. */
static int queue_add_rows(struct attn_queue *q, int64_t i, int64_t h,
                          int64_t slot, int64_t n)
{
    struct attn_batch *b = &q->batch;
    const int64_t past = q->self.length[slot], row = b->rows;
    q->start[slot] = (int32_t)row;
    q->past[slot] = (int32_t)past;
    q->source[slot] = q->seated.at[i];
    for (int64_t j = 0; j < n; j++)
        q->ids[row + j] = attn_queue_token(attn_queue_seat(q, i), h, past + j);
    b->rows += n;
    b->sequences = slot + 1;
    q->start[slot + 1] = (int32_t)b->rows;
    return attn_cache_grow(&q->self, slot, n);
}

/* Selects the last row of the batch for logits. */
static void queue_select(struct attn_queue *q, struct attn_place *p)
{
    q->select[q->batch.selected] = (int32_t)(q->batch.rows - 1);
    q->batch.selected++;
    p->chosen = 1;
}

/* Lets the prompt in seat i, which is not read, begin with rows that were kept.
 * Returns 0 if it has to wait for more that another one is reading. */
static int queue_begins(struct attn_queue *q, int64_t i, int64_t slot)
{
    const struct attn_place *p = attn_queue_seat(q, i);
    if (q->prefixes == 0 || q->self.length[slot] > 0)
        return 1;
    const int64_t most = queue_unread(q, p, slot) - 1;
    int64_t have = attn_prefix_take(q, p, slot, most);
    if (!attn_prefix_comes(q, i, have))
        return 1;
    attn_cache_release(&q->self, slot);
    return 0;
}

/* Fills the batch with the unread tokens of all open hypotheses, and selects
 * the last row of each that then has none. Prompts share the rows of a call:
 * what is left is read in the next rounds. */
static int queue_fill(struct attn_queue *q)
{
    const int64_t most = attn_cache_rows(q->model);
    int64_t slot = 0, left = q->prompt_rows;
    for (int64_t i = 0; i < q->seated.n; i++) {
        struct attn_place *p = attn_queue_seat(q, i);
        for (int64_t h = 0; h < p->beam.open; h++) {
            const int prompt = queue_unread(q, p, slot) > 1;
            const int waits = prompt && !queue_begins(q, i, slot);
            const int64_t unread = queue_unread(q, p, slot);
            int64_t n = attn_min(unread, most);
            if (prompt) {
                n = waits ? 0 : attn_min(n, left);
                left -= n;
            }
            if (queue_add_rows(q, i, h, slot, n) < 0)
                return ATTN_ERROR_ROOM;
            if (n == unread)
                queue_select(q, p);
            slot++;
        }
    }
    return 0;
}

/* Keeps the prompts that were read completely in this round. */
static void queue_keep_prompts(struct attn_queue *q)
{
    int64_t slot = 0;
    for (int64_t i = 0; i < q->seated.n && q->prefixes > 0; i++) {
        const struct attn_place *p = attn_queue_seat(q, i);
        if (p->chosen && p->beam.length == p->o.prefix_n)
            attn_prefix_keep(q, p, slot);
        slot += p->beam.open;
    }
}

/* Computes the logits of the selected rows. */
static int queue_compute(struct attn_queue *q)
{
    struct attn_batch *b = &q->batch;
    b->sequences = 0;
    b->rows = 0;
    b->selected = 0;
    b->start = q->start;
    b->ids = q->ids;
    b->past = q->past;
    b->select = q->select;
    b->source = q->source;
    b->source_rows = q->source_rows_of;
    b->output = q->logits;
    attn_cache_bind(&q->cross, 0, b);
    attn_cache_bind(&q->self, 0, b);
    for (int64_t i = 0; i < q->seated.n; i++)
        attn_queue_seat(q, i)->chosen = 0;
    int wrong = queue_fill(q);
    if (wrong == 0)
        wrong = attn_enter(q->model, q->bound, b, q->arena, 1);
    if (wrong == 0)
        queue_keep_prompts(q);
    return wrong;
}

/* ---- choice ---- */

/* Runs the logits processors on the logits of hypothesis h. Returns 0 or an
 * error. */
static int queue_process(const struct attn_queue *q, const struct attn_place *p,
                         int64_t h, float *logits)
{
    const struct attn_beam *b = &p->beam;
    const int64_t lead = attn_search_lead(q->model, &p->o, p->rows);
    for (int64_t j = 0; j < lead + b->length; j++)
        q->tokens[j] = attn_queue_token(p, h, j);
    const struct attn_process_row row = {
        &p->o,     logits, q->model->target_vocab,
        q->tokens, lead,   lead + b->length,
        q->order
    };
    return attn_process_logits(&row);
}

/* Adds hypothesis h, with each of its possible next tokens, to the list of its
 * source. Returns 0 or an error: the logits are invalid (attn_logits_finite),
 * or no token may follow. */
static int queue_offer(const struct attn_queue *q, struct attn_place *p,
                       int64_t h, float *logits)
{
    const struct attn_search_options *o = &p->o;
    const int64_t vocab = q->model->target_vocab;
    const int late = o->process.log_probabilities && o->beam > 1;
    float sum = 0.0f;
    int wrong = 0;
    if (!attn_logits_finite(logits, vocab))
        return ATTN_ERROR_FINITE;
    if (!late)
        wrong = queue_process(q, p, h, logits);
    if (wrong)
        return wrong;
    if (o->beam > 1 || o->want_scores)
        sum = q->model->log_sum_exp(q->bound, logits, vocab);
    if (late) {
        for (int64_t t = 0; t < vocab; t++)
            logits[t] = attn_log_probability(logits[t], sum);
        wrong = queue_process(q, p, h, logits);
        sum = 0.0f;
    }
    if (wrong)
        return wrong;
    attn_forbid_logits(o, logits, vocab);
    attn_beam_offer(&p->beam, (int32_t)h, logits, vocab, sum);
    return 0;
}

/* Applies the rule of a source to the logits of its hypotheses, and stores the
 * parents of those that stay open. */
static void queue_advance(const struct attn_queue *q, struct attn_place *p,
                          float *logits, int32_t *parents)
{
    struct attn_beam *b = &p->beam;
    int wrong = 0, stuck = 0;
    for (int64_t h = 0; h < b->open && wrong == 0; h++) {
        wrong = queue_offer(q, p, h, logits + h * q->model->target_vocab);
        if (wrong == ATTN_ERROR_GRAMMAR) { /* other hypotheses may go on */
            stuck = wrong;
            wrong = 0;
        }
    }
    if (stuck && b->listed == 0 && b->found == 0)
        wrong = stuck;
    if (wrong == 0 && stuck && b->listed == 0) {
        b->open = 0; /* the answers found are all */
    } else if (wrong == 0) {
        attn_beam_advance(b, parents);
    } else {
        b->open = 0;
        b->found = wrong;
    }
}

/* Applies the rules to the logits of this round. */
static void queue_choose(struct attn_queue *q)
{
    int64_t slot = 0, stay = 0;
    float *logits = q->logits;
    for (int64_t i = 0; i < q->seated.n; i++) {
        struct attn_place *p = attn_queue_seat(q, i);
        const int64_t had = p->beam.open;
        if (p->chosen) {
            queue_advance(q, p, logits, q->parents + stay);
            logits += had * q->model->target_vocab;
        } else {
            for (int64_t h = 0; h < had; h++)
                q->parents[stay + h] = (int32_t)h;
        }
        for (int64_t h = 0; h < p->beam.open; h++)
            q->parents[stay + h] += (int32_t)slot;
        slot += had;
        stay += p->beam.open;
    }
    attn_queue_leave(q, stay);
}

/* Computes a token of each open answer, and parts of the prompts of those that
 * begin. Returns 0 or an error, after which the queue is of no more use. */
ATTN_API int attn_queue_round(struct attn_queue *q)
{
    int wrong = attn_queue_admit(q);
    if (wrong || q->seated.n == 0)
        return wrong;
    wrong = queue_compute(q);
    if (wrong == 0 && q->batch.selected > 0)
        queue_choose(q);
    return wrong;
}

/* prefixes.c: prompts that begin alike are read once. The rows of a prompt that
 * was read stay in a slot of their own. A source whose first tokens are the
 * same begins with these pages. The tokens are compared; what rows depend on
 * beside them is the same for all sources of a queue. */

/* Shorter beginnings are not worth a page of their own. */
enum { PREFIX_LEAST = 16 };

/* Returns the number of tokens, up to n, that a prefix and a source have in
 * common. */
static int64_t prefix_common(const struct attn_prefix *x,
                             const struct attn_place *p, int64_t n)
{
    int64_t i = 0;
    n = attn_min(n, x->n);
    while (i < n && x->tokens[i] == attn_queue_token(p, 0, i))
        i++;
    return i;
}

ATTN_API int64_t attn_prefix_take(struct attn_queue *q,
                                  const struct attn_place *p, int64_t slot,
                                  int64_t n)
{
    int64_t best = 0, most = 0;
    for (int64_t i = 0; i < q->prefixes; i++) {
        const int64_t common = attn_cache_begun(&q->self, q->slots + i,
                                                prefix_common(&q->prefix[i], p,
                                                              n));
        if (common > most) {
            most = common;
            best = i;
        }
    }
    if (most < PREFIX_LEAST)
        return 0;
    attn_cache_fork(&q->self, q->slots + best, slot);
    attn_cache_cut(&q->self, slot, most);
    q->time++;
    q->prefix[best].used = q->time;
    return most;
}

/* Frees the prefix that was not used for the longest time. Returns its index.
 */
static int64_t prefix_drop(struct attn_queue *q)
{
    int64_t oldest = -1;
    for (int64_t i = 0; i < q->prefixes; i++)
        if (q->prefix[i].n > 0
            && (oldest < 0 || q->prefix[i].used < q->prefix[oldest].used))
            oldest = i;
    q->prefix_pages -= attn_cache_pages(q->prefix[oldest].n);
    q->prefix[oldest].n = 0;
    attn_cache_release(&q->self, q->slots + oldest);
    return oldest;
}

ATTN_API void attn_prefix_keep(struct attn_queue *q, const struct attn_place *p,
                               int64_t slot)
{
    const int64_t n = q->self.length[slot], pages = attn_cache_pages(n);
    int64_t to = -1;
    if (n < ATTN_PAGE || pages > q->size.prefix_pages)
        return;
    for (int64_t i = 0; i < q->prefixes; i++) {
        if (prefix_common(&q->prefix[i], p, n) == n)
            return;
        if (q->prefix[i].n == 0)
            to = i;
    }
    while (to < 0 || q->prefix_pages + pages > q->size.prefix_pages)
        to = prefix_drop(q);
    attn_cache_fork(&q->self, slot, q->slots + to);
    for (int64_t j = 0; j < n; j++)
        q->prefix[to].tokens[j] = attn_queue_token(p, 0, j);
    q->prefix[to].n = n;
    q->prefix_pages += pages;
    q->time++;
    q->prefix[to].used = q->time;
}

/* Returns the number of tokens before the answer that have to be read. */
static int64_t prefix_lead(const struct attn_queue *q,
                           const struct attn_place *p)
{
    return attn_search_lead(q->model, &p->o, p->rows);
}

ATTN_API int attn_prefix_comes(const struct attn_queue *q, int64_t i,
                               int64_t have)
{
    const struct attn_place *p = attn_queue_seat(q, i);
    const int64_t least = have + ATTN_PAGE;
    if (prefix_lead(q, p) < least)
        return 0;
    for (int64_t k = 0; k < i; k++) {
        const struct attn_place *x = attn_queue_seat(q, k);
        int64_t same = 0;
        if (x->beam.length > x->o.prefix_n || prefix_lead(q, x) < least)
            continue; /* its prompt is read, or short */
        while (same < least
               && attn_queue_token(x, 0, same) == attn_queue_token(p, 0, same))
            same++;
        if (same == least)
            return 1;
    }
    return 0;
}

/* search.c: answers several sources at once, as a queue (queue.h) that has a
 * seat for each. */

static struct attn_queue_size search_size(int64_t sentences,
                                          int64_t source_rows, int64_t longest)
{
    return (struct attn_queue_size){ .seats = sentences,
                                     .places = sentences,
                                     .rows = source_rows,
                                     .longest = longest };
}

ATTN_API int64_t attn_search_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t sentences, int64_t source_rows,
                                   int64_t longest)
{
    const struct attn_queue_size size = search_size(sentences, source_rows,
                                                    longest);
    return attn_queue_bytes(m, o, &size);
}

static int64_t search_longest(const int32_t *start, int64_t sentences)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < sentences; i++)
        longest = attn_max(longest, start[i + 1] - start[i]);
    return longest;
}

/* Checks the request's pointers and source positions. Returns 0 or an error. */
static int search_check(const struct attn_search_request *r)
{
    if (!r->bound || !r->o || !r->start || !r->memory)
        return ATTN_ERROR_NULL;
    int wrong = attn_check_count(r->sentences, 0, ATTN_MOST);
    if (wrong == 0)
        wrong = attn_check_starts(r->start, r->sentences,
                                  r->start[r->sentences], ATTN_MOST);
    if (wrong)
        return wrong;
    if (r->start[r->sentences] > 0
        && (r->model->input_width > 0 ? !r->input : !r->ids))
        return ATTN_ERROR_NULL;
    return 0;
}

/* Adds all sources. Source i gets place i. Returns 0 or an error. */
static int search_add(struct attn_queue *q, const struct attn_search_request *r)
{
    for (int64_t i = 0; i < r->sentences; i++) {
        const int64_t at = r->start[i];
        const struct attn_queue_source s = {
            .ids = r->ids ? r->ids + at : NULL,
            .input = r->input ? r->input + at * q->width : NULL,
            .rows = r->start[i + 1] - at,
        };
        const int64_t place = attn_queue_add(q, &s);
        if (place < 0)
            return (int)place;
    }
    return 0;
}

ATTN_API int attn_search(const struct attn_search_request *r,
                         struct attn_hypothesis *out, int64_t *found)
{
    struct attn_queue q;
    if (!out || !found)
        return ATTN_ERROR_NULL;
    int wrong = search_check(r);
    if (wrong)
        return wrong;
    const struct attn_queue_request open = {
        .model = r->model,
        .bound = r->bound,
        .o = r->o,
        .size = search_size(r->sentences, r->start[r->sentences],
                            search_longest(r->start, r->sentences)),
        .memory = r->memory,
        .bytes = r->bytes,
    };
    wrong = attn_queue_open(&q, &open);
    if (wrong == 0)
        wrong = search_add(&q, r);
    while (wrong == 0 && attn_queue_busy(&q))
        wrong = attn_queue_round(&q);
    for (int64_t i = 0; i < r->sentences && wrong == 0; i++) {
        const struct attn_beam *b = &q.place[i].beam;
        found[i] = b->found;
        if (b->found > 0)
            memcpy(out + i * r->o->results, b->best,
                   (size_t)b->found * sizeof *out);
    }
    return wrong;
}

/* -------------------------------------------------------------- threads --- */

#if defined ATTNC_MAIN || defined ATTNC_THREADS

/* pool.h: threads that run the parts of a model's calls, and the useful number
 * of threads. This code is in attnc, and in an emitted file if ATTNC_MAIN or
 * ATTNC_THREADS is defined. */
#ifndef ATTN_POOL_1
#define ATTN_POOL_1

enum { ATTN_POOL_MOST = 256 }; /* maximum threads of a pool */

struct attn_pool;

/* Opens a pool of `threads` threads, including the calling thread, 1 to
 * ATTN_POOL_MOST. If the system refuses some of them, the pool has fewer, and
 * attn_pool_refused() returns the reason. Returns NULL if memory runs out. */
ATTN_API struct attn_pool *attn_pool_open(int64_t threads);
ATTN_API void attn_pool_close(struct attn_pool *p); /* p may be NULL */
/* Returns the pool as an argument for a batch or a search; `parts` is its
 * number of threads. A call within another call, or from a second thread while
 * one is running, runs all its parts on its own thread. */
ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p);
/* Returns the reason why the pool has fewer threads than requested, or NULL if
 * all started. */
ATTN_API const char *attn_pool_refused(const struct attn_pool *p);

/* ---- cores.c ---- */

/* Returns the number of physical cores that this process may use, 1 to
 * ATTN_POOL_MOST. The affinity and the control group of the process limit
 * it. */
ATTN_API int64_t attn_cores(void);
/* Returns the number of processors that the text of a cpu.max file grants; 0:
 * no limit. */
ATTN_API int64_t attn_cores_granted(const char *cpu_max);
#ifdef __linux__
/* Returns the smallest number of processors that a control group in the file
 * `groups`, such as /proc/self/cgroup, grants, or a group above one; 0: no
 * limit. The groups of version 2 are folders below `mount`, those of version 1
 * folders below `mount`/cpu. */
ATTN_API int64_t attn_cores_of_groups(const char *groups, const char *mount);
#endif

#endif

/* cores.c: counts the cores that threads can use. Two threads on one core share
 * its arithmetic units, and a control group may grant fewer cores than the
 * machine has. */

static int cores_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "re");
    int read = 0;
    if (!f)
        return 0;
    read = fgets(line, size, f) != NULL;
    fclose(f);
    return read;
}

/* Reads a grant such as "200000 100000": 200000 us in each period of 100000 us.
 * "max 100000" has no limit. */
ATTN_API int64_t attn_cores_granted(const char *cpu_max)
{
    long long time, period;
    if (sscanf(cpu_max, "%lld %lld", &time, &period) != 2 || time < 1
        || period < 1)
        return 0;
    return time < period ? 1 : time / period;
}

#ifdef __linux__
enum { CORES_PATH = 4096 };

/* Returns the grant of a group in this folder; 0: no limit. cpu.max is a file
 * of version 2; version 1 has a file for each of its numbers, and -1 us is no
 * limit. */
static int64_t cores_of_folder(const char *folder)
{
    char path[CORES_PATH + 128], grant[64], period[24];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (cores_line(path, grant, sizeof grant))
        return attn_cores_granted(grant);
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    if (!cores_line(path, grant, sizeof grant - sizeof period))
        return 0;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    if (!cores_line(path, period, sizeof period))
        return 0;
    strcat(grant, period);
    return attn_cores_granted(grant);
}

/* Returns where the groups of a line of /proc/self/cgroup are, such as
 * "4:cpu,cpuacct:/a" or, in version 2, "0::/a": a folder below the mount point.
 * NULL: the line is of a controller that limits no cores. */
static const char *cores_hierarchy(const char *line)
{
    const char *at = strchr(line, ':');
    if (!at || strncmp(line, "0::", 3) == 0)
        return at ? "" : NULL;
    for (at++; *at && *at != ':'; at += *at == ',') {
        const size_t n = strcspn(at, ",:");
        if (n == 3 && strncmp(at, "cpu", n) == 0)
            return "/cpu";
        at += n;
    }
    return NULL;
}

ATTN_API int64_t attn_cores_of_groups(const char *groups, const char *mount)
{
    char line[CORES_PATH], folder[CORES_PATH + 64];
    int64_t least = 0;
    FILE *f = fopen(groups, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *hierarchy = cores_hierarchy(line);
        char *group = strchr(line, '/');
        if (!hierarchy || !group)
            continue;
        group[strcspn(group, "\n")] = '\0';
        char *end = group + strlen(group);
        while (end) {
            *end = '\0';
            snprintf(folder, sizeof folder, "%s%s%s", mount, hierarchy, group);
            const int64_t n = cores_of_folder(folder);
            if (n > 0 && (n < least || least == 0))
                least = n;
            end = strrchr(group, '/');
        }
    }
    if (f)
        fclose(f);
    return least;
}

/* Returns the smallest grant of the process's control groups and of the groups
 * above them; 0: no limit. */
static int64_t cores_of_group(void)
{
    return attn_cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* Returns the first processor of the core to which `cpu` belongs. */
static int cores_first(int cpu)
{
    char path[128], line[256];
    int first = -1;
    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/"
             "thread_siblings_list",
             cpu);
    if (cores_line(path, line, sizeof line))
        if (sscanf(line, "%d", &first) == 1 && first >= 0
            && first < CPU_SETSIZE)
            return first;
    return cpu;
}

static int64_t cores_allowed(void)
{
    cpu_set_t allowed, first;
    CPU_ZERO(&first);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            CPU_SET(cores_first(cpu), &first);
    return CPU_COUNT(&first);
}
#else
static int64_t cores_of_group(void)
{
    return 0;
}

static int64_t cores_allowed(void)
{
    return sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

ATTN_API int64_t attn_cores(void)
{
    const int64_t granted = cores_of_group();
    int64_t n = cores_allowed();
    if (granted > 0)
        n = attn_min(n, granted);
    return attn_min(attn_max(n, 1), ATTN_POOL_MOST);
}

/* pool.c: threads that run the parts of a call. Each free thread, including the
 * caller, takes the next part, so a thread that the system delays holds up only
 * its own part.
 *
 * An idle thread polls for work for 50 us, then sleeps on a futex (on systems
 * without one, and with -DATTNC_NO_FUTEX, on a condition variable). So it stays
 * awake between the steps of a model, and costs nothing while the model waits
 * for its next input. */

#ifdef ATTN_ATOMICS
enum { POOL_SPIN = 50, POOL_STACK = 1 << 20, POOL_LINE = 64 }; /* us, bytes */

/* `turn` packs three numbers: the number of the call in the upper 32 bits, then
 * its number of parts and the next part to take, POOL_BITS bits each. A thread
 * takes a part with a compare-exchange of all three, so it never takes a part
 * of another call. The function of a call stays valid until all parts are
 * done. */
enum { POOL_BITS = 16 };

struct attn_pool {
    struct attn_parallel parallel;
    const char *refused;
    pthread_t thread[ATTN_POOL_MOST];
    int64_t started;
    void (*part)(void *arg, int64_t part, int64_t parts);
    void *arg;
    _Alignas(POOL_LINE) _Atomic uint64_t turn;
    _Alignas(POOL_LINE) atomic_uint call; /* number of the current call; idle
                                             threads sleep on it */
    atomic_uint sleepers;
    _Alignas(POOL_LINE) atomic_uint left; /* number of parts not yet done */
    atomic_uint waiting; /* 1: the caller sleeps until left is 0 */
    _Alignas(POOL_LINE) atomic_int busy;
    atomic_int closing;
#ifndef ATTN_FUTEX
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
};

/* ---- waiting ---- */

#ifdef ATTN_FUTEX
static void pool_sleep(struct attn_pool *p, atomic_uint *word, unsigned seen)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void pool_wake(struct attn_pool *p, atomic_uint *word)
{
    (void)p;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, ATTN_POOL_MOST, NULL, NULL, 0);
}
#else
static void pool_sleep(struct attn_pool *p, atomic_uint *word, unsigned seen)
{
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(word) == seen)
        pthread_cond_wait(&p->changed, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

static void pool_wake(struct attn_pool *p, atomic_uint *word)
{
    (void)word;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->mutex);
}
#endif

static void pool_pause(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static int64_t pool_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Polls the word until it differs from `seen`. Returns 1 if it changed, 0 after
 * POOL_SPIN us.                                                             */
static int pool_spin(atomic_uint *word, unsigned seen)
{
    const int64_t until = pool_time() + POOL_SPIN;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(word, memory_order_acquire) != seen)
                return 1;
            pool_pause();
        }
    } while (pool_time() < until);
    return 0;
}

/* ---- parts ---- */

/* Takes and runs the next part of call number `call`. Returns 0 if none is
 * left.                                                                     */
static int pool_part(struct attn_pool *p, unsigned call)
{
    uint64_t turn = atomic_load_explicit(&p->turn, memory_order_acquire);
    for (;;) {
        const int64_t next = turn & 0xffff;
        const int64_t parts = turn >> POOL_BITS & 0xffff;
        if ((unsigned)(turn >> 2 * POOL_BITS) != call || next == parts)
            return 0;
        if (!atomic_compare_exchange_weak_explicit(&p->turn, &turn, turn + 1,
                                                   memory_order_acquire,
                                                   memory_order_acquire))
            continue;
        p->part(p->arg, next, parts);
        if (atomic_fetch_sub(&p->left, 1) == 1 && atomic_load(&p->waiting))
            pool_wake(p, &p->left);
        return 1;
    }
}

static void pool_wait(struct attn_pool *p)
{
    unsigned left = atomic_load(&p->left);
    while (left > 0) {
        if (!pool_spin(&p->left, left)) {
            atomic_store(&p->waiting, 1);
            left = atomic_load(&p->left);
            if (left > 0)
                pool_sleep(p, &p->left, left);
            atomic_store(&p->waiting, 0);
        }
        left = atomic_load(&p->left);
    }
}

static void pool_alone(int64_t parts,
                       void (*part)(void *arg, int64_t part, int64_t parts),
                       void *arg)
{
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

static void pool_announce(struct attn_pool *p)
{
    atomic_fetch_add(&p->call, 1);
    if (atomic_load(&p->sleepers) > 0)
        pool_wake(p, &p->call);
}

static void pool_run(void *pool, int64_t parts,
                     void (*part)(void *arg, int64_t part, int64_t parts),
                     void *arg)
{
    struct attn_pool *p = pool;
    if (parts < 2 || parts >= 1 << POOL_BITS || p->started == 0
        || atomic_exchange(&p->busy, 1)) {
        pool_alone(parts, part, arg);
        return;
    }
    const unsigned call = atomic_load(&p->call) + 1;
    p->part = part;
    p->arg = arg;
    atomic_store(&p->left, (unsigned)parts);
    atomic_store_explicit(&p->turn,
                          (uint64_t)call << 2 * POOL_BITS
                              | (uint64_t)parts << POOL_BITS,
                          memory_order_release);
    pool_announce(p);
    while (pool_part(p, call))
        ;
    pool_wait(p);
    atomic_store(&p->busy, 0);
}

/* ---- threads ---- */

static void *pool_serve(void *pool)
{
    struct attn_pool *p = pool;
    unsigned seen = 0;
    while (!atomic_load(&p->closing)) {
        if (!pool_spin(&p->call, seen)) {
            atomic_fetch_add(&p->sleepers, 1);
            if (!atomic_load(&p->closing))
                pool_sleep(p, &p->call, seen);
            atomic_fetch_sub(&p->sleepers, 1);
        }
        seen = atomic_load(&p->call);
        while (pool_part(p, seen))
            ;
    }
    return NULL;
}

/* Blocks signals in the new thread, so that the calling thread gets them.
 * Faults that a thread itself causes stay unblocked.                        */
static int pool_start(struct attn_pool *p, pthread_t *thread,
                      pthread_attr_t *attributes)
{
    static const int own[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT };
    sigset_t others, before;
    sigfillset(&others);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&others, own[i]);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int error = pthread_create(thread, attributes, pool_serve, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

ATTN_API struct attn_pool *attn_pool_open(int64_t threads)
{
    pthread_attr_t attributes;
    struct attn_pool *p = aligned_alloc(POOL_LINE, sizeof *p);
    if (!p)
        return NULL;
    memset(p, 0, sizeof *p);
#ifndef ATTN_FUTEX
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
#endif
    int error = pthread_attr_init(&attributes);
    if (!error)
        error = pthread_attr_setstacksize(&attributes, POOL_STACK);
    while (!error && p->started < threads - 1) {
        error = pool_start(p, &p->thread[p->started], &attributes);
        p->started += !error;
    }
    pthread_attr_destroy(&attributes);
    if (error)
        p->refused = strerror(error);
    p->parallel.parts = p->started + 1;
    p->parallel.pool = p;
    p->parallel.run = pool_run;
    return p;
}

ATTN_API void attn_pool_close(struct attn_pool *p)
{
    if (!p)
        return;
    atomic_store(&p->closing, 1);
    pool_announce(p);
    for (int64_t i = 0; i < p->started; i++)
        pthread_join(p->thread[i], NULL);
#ifndef ATTN_FUTEX
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->mutex);
#endif
    free(p);
}

#else
/* Without atomics, the caller is the only thread. */
struct attn_pool {
    struct attn_parallel parallel;
    const char *refused;
};

static void pool_run(void *pool, int64_t parts,
                     void (*part)(void *arg, int64_t part, int64_t parts),
                     void *arg)
{
    (void)pool;
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

ATTN_API struct attn_pool *attn_pool_open(int64_t threads)
{
    struct attn_pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->parallel.parts = 1;
    p->parallel.run = pool_run;
    if (threads > 1)
        p->refused = "the C compiler knows no atomics";
    return p;
}

ATTN_API void attn_pool_close(struct attn_pool *p)
{
    free(p);
}
#endif

ATTN_API const struct attn_parallel *
attn_pool_parallel(const struct attn_pool *p)
{
    return &p->parallel;
}

ATTN_API const char *attn_pool_refused(const struct attn_pool *p)
{
    return p->refused;
}

#endif

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

/* ---- lengths ---- */

ATTN_API int attn_enter(const struct attn_model *m, const void *bound,
                        const struct attn_batch *b, void *arena, int decodes)
{
    if (decodes)
        m->decode(bound, b, arena);
    else
        m->encode(bound, b, arena);
    return 0;
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

/* search_memory.c: checks the sizes of a search and lays out its arrays. The
 * same code counts the bytes and places the arrays.                         */

ATTN_API int64_t attn_search_lead(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  int64_t rows)
{
    int64_t lead = 0;
    if (o->start >= 0)
        lead++;
    if (m->kind == ATTN_DECODER)
        lead += rows;
    return lead;
}

ATTN_API int64_t attn_search_source(const struct attn_model *m)
{
    return m->kind == ATTN_DECODER ? m->max_target
                                   : m->max_source - m->class_token;
}

ATTN_API int64_t attn_search_limit(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t rows, int64_t lead)
{
    int64_t limit = m->max_target - lead + 1;
    if (o->max_output > 0)
        limit = attn_min(limit, o->max_output);
    if (o->max_output_plus >= 0)
        limit = attn_min(limit, rows + attn_min(o->max_output_plus, ATTN_MOST));
    return limit;
}

ATTN_API int attn_search_asks(const struct attn_model *m,
                              const struct attn_search_options *o, int64_t rows)
{
    int64_t lead = attn_search_lead(m, o, rows);
    if (rows > 0)
        return 1;
    if (m->kind != ATTN_DECODER || lead == 0)
        return 0;
    return attn_search_limit(m, o, rows, lead) > 0;
}

/* Checks the options for choosing tokens (start, end, process, sampling) and
 * the threads. Returns 0 or an error. */
ATTN_API int attn_check_choice(const struct attn_model *m,
                               const struct attn_search_options *o)
{
    int64_t vocab = m->target_vocab;
    if (!o)
        return ATTN_ERROR_NULL;
    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (o->start < -1 || o->start >= vocab || o->end < -1 || o->end >= vocab)
        return ATTN_ERROR_ID;
    if (o->start < 0 && m->kind == ATTN_ENCODER_DECODER)
        return ATTN_ERROR_ID;
    if (!attn_sampling_fits(&o->sampling))
        return ATTN_ERROR_OPTION;
    if (o->draft < ATTN_DRAFT_NONE || o->draft > ATTN_DRAFT_MODEL)
        return ATTN_ERROR_OPTION;
    if (o->draft == ATTN_DRAFT_MODEL && !(o->drafter && o->drafter->model))
        return ATTN_ERROR_NULL;
    int wrong = attn_check_parallel(m, o->parallel);
    if (wrong == 0)
        wrong = attn_check_ids(o->ends, o->ends_count, vocab);
    if (wrong == 0)
        wrong = attn_check_ids(o->prefix, o->prefix_n, vocab);
    if (wrong)
        return wrong;
    return attn_check_process(&o->process, vocab);
}

/* Checks the options that control the search, not those for choosing tokens. */
static int search_rules(const struct attn_search_options *o)
{
    if (o->beam < 1 || o->beam > INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->results < 1 || o->results > INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->rule != ATTN_RULE_EXACT && o->rule != ATTN_RULE_RECORDED)
        return ATTN_ERROR_OPTION;
    if (o->penalty < ATTN_PENALTY_NONE || o->penalty > ATTN_PENALTY_POWER)
        return ATTN_ERROR_OPTION;
    if (!(o->alpha - o->alpha == 0.0f)) /* infinite or NaN */
        return ATTN_ERROR_OPTION;
    if (!(o->patience >= 0.0f) || o->patience > (float)INT16_MAX)
        return ATTN_ERROR_OPTION;
    if (o->max_output < 0 || o->max_input < 0)
        return ATTN_ERROR_OPTION;
    if (o->beam > 1 && o->sampling.temperature != 0.0f)
        return ATTN_ERROR_OPTION;
    return 0;
}

/* ---- sizes ---- */

static int queue_sizes(const struct attn_queue_size *n,
                       const struct attn_search_options *o)
{
    if (n->places < 0 || n->places > ATTN_MOST / o->beam)
        return ATTN_ERROR_COUNT;
    if (n->seats < 0 || n->seats > n->places)
        return ATTN_ERROR_COUNT;
    if (n->rows < 0 || n->rows > ATTN_MOST || n->call < 0 || n->pages < 0
        || n->prefix_pages < 0)
        return ATTN_ERROR_COUNT;
    return n->longest < 0 || n->longest > ATTN_MOST ? ATTN_ERROR_COUNT : 0;
}

static int64_t queue_fixed(const struct attn_model *m)
{
    (void)m;
    return 0;
}

ATTN_API int64_t attn_queue_positions(const struct attn_queue *q,
                                      const struct attn_search_options *o,
                                      int64_t rows)
{
    const int64_t lead = attn_search_lead(q->model, o, rows);
    const int64_t limit = attn_search_limit(q->model, o, rows, lead);
    return attn_min(lead + limit - 1, q->model->max_target);
}

/* True if choosing tokens needs scratch memory. */
static int queue_orders(const struct attn_search_options *o)
{
    return o->sampling.temperature > 0.0f || attn_penalises(&o->process);
}

/* Returns the maximum pairs in the list of a beam; greedy search has one. */
static int64_t queue_pairs(const struct attn_search_options *o)
{
    return (2 + o->ends_count) * o->beam;
}

ATTN_API int attn_queue_check(const struct attn_queue *q,
                              const struct attn_search_options *o)
{
    int wrong = attn_check_choice(q->model, o);
    if (wrong == 0)
        wrong = search_rules(o);
    if (wrong)
        return wrong;
    if (o->beam > q->o->beam || o->results > q->o->results
        || (o->beam > 1 && queue_pairs(o) > queue_pairs(q->o))
        || (queue_orders(o) && !q->order))
        return ATTN_ERROR_ROOM;
    return 0;
}

/* Sets what the options leave of the sizes, and how many sequences a call
 * has. */
static void queue_size(struct attn_queue *q)
{
    const struct attn_model *m = q->model;
    struct attn_queue_size *n = &q->size;
    const int64_t fixed = n->places > 0 ? queue_fixed(m) : 0;
    if (q->o->max_input > 0)
        n->longest = attn_min(n->longest, q->o->max_input);
    const int64_t most = n->places * n->longest;
    n->rows = n->rows > 0 ? attn_min(n->rows, most) : most;
    q->width = attn_max(m->input_width, 1);
    q->slots = attn_max(n->seats * q->o->beam, fixed);
    if (m->kind != ATTN_DECODER || fixed > 0)
        n->prefix_pages = 0; /* a source's rows depend on all of its tokens */
    q->prefixes = n->prefix_pages > 0 ? ATTN_PREFIXES : 0;
    q->calls = attn_max(n->seats, fixed);
    q->limit = attn_search_limit(m, q->o, n->longest, 0);
    q->positions = attn_min(attn_search_lead(m, q->o, n->longest) + q->limit
                                - 1,
                            m->max_target);
}

/* Sets the maximum rows of sources in a call of encode that are not copies, and
 * of prompts in a call of decode: of each prompt at most attn_cache_rows(). */
static void queue_calls(struct attn_queue *q)
{
    const struct attn_model *m = q->model;
    const struct attn_queue_size *n = &q->size;
    const int64_t one = n->longest + m->class_token;
    int64_t prompts = n->seats
                    * (attn_search_lead(m, q->o, 0) + q->o->prefix_n);
    if (m->kind == ATTN_DECODER)
        prompts += n->rows;
    q->prompt_rows = attn_min(prompts, n->seats * attn_cache_rows(m));
    q->encode_rows = n->rows + n->places * m->class_token;
    if (n->call > 0) {
        q->prompt_rows = attn_min(q->prompt_rows, n->call);
        q->encode_rows = attn_min(q->encode_rows, attn_max(n->call, one));
    }
}

/* ---- arrays ---- */

static void queue_lay_out_caches(struct attn_queue *q, struct attn_memory *at)
{
    const struct attn_queue_size *n = &q->size;
    const int64_t keys = n->longest + q->model->class_token;
    const int64_t most = attn_cache_pages(keys);
    struct attn_cache_size self = { ATTN_SELF, 0, 0, 0, 0 };
    struct attn_cache_size cross = { ATTN_CROSS, 0, 0, 0, 0 };

    self.slots = q->slots + q->prefixes;
    self.length = q->positions;
    self.pages = n->pages > 0 ? n->pages
                              : q->slots * attn_cache_pages(q->positions);
    self.pages += n->prefix_pages;
    self.rows = attn_cache_rows(q->model);
    attn_cache_take(&q->self, q->model, &self, at);
    cross.slots = n->places + q->calls;
    cross.length = keys;
    /* of each source, all pages except the last are full */
    cross.pages = (n->rows + n->places * q->model->class_token) / ATTN_PAGE
                + n->places;
    cross.pages = attn_min(cross.pages, n->places * most);
    if (queue_fixed(q->model) > 0) /* copies fill the call */
        cross.pages = 0;
    if (q->model->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&q->cross, q->model, &cross, at);
}

static void queue_lay_out_place(struct attn_queue *q, struct attn_place *p,
                                struct attn_memory *at)
{
    const int64_t beam = q->o->beam, results = q->o->results;
    const int64_t word = sizeof(int32_t);
    struct attn_beam *b = &p->beam;
    b->width = q->limit;
    b->sum = attn_take(at, beam, sizeof *b->sum);
    b->list = attn_take(at, queue_pairs(q->o), sizeof *b->list);
    b->tokens = attn_take(at, beam * q->limit, word);
    b->spare = attn_take(at, beam * q->limit, word);
    b->answers = attn_take(at, results * q->limit, word);
    b->best = attn_take(at, results, sizeof *b->best);
    b->order = q->order;
    if (q->model->kind == ATTN_DECODER)
        p->prompt = attn_take(at, q->size.longest, word);
}

static void queue_lay_out_places(struct attn_queue *q, struct attn_memory *at)
{
    const int64_t n = q->size.places, word = sizeof(int32_t);
    struct attn_queue_list *const lists[] = { &q->free, &q->added, &q->waiting,
                                              &q->seated, &q->ended };
    for (int i = 0; i < (int)(sizeof lists / sizeof *lists); i++)
        lists[i]->at = attn_take(at, n, word);
    q->prefix = attn_take(at, q->prefixes, sizeof *q->prefix);
    for (int64_t i = 0; i < q->prefixes && at->used >= 0; i++) {
        int32_t *tokens = attn_take(at, q->positions, word);
        if (at->base)
            q->prefix[i].tokens = tokens;
    }
    q->place = attn_take(at, n, sizeof *q->place);
    for (int64_t i = 0; i < n && at->used >= 0; i++) {
        struct attn_place p = { 0 };
        queue_lay_out_place(q, &p, at);
        if (at->base)
            q->place[i] = p;
    }
}

ATTN_API void attn_queue_lay_out(struct attn_queue *q, struct attn_memory *at)
{
    const struct attn_model *m = q->model;
    const int64_t word = sizeof(int32_t);
    queue_size(q);
    queue_calls(q);
    const int64_t slots = q->slots, n = q->size.places;
    int64_t sources = q->encode_rows;
    int64_t rows = q->prompt_rows + slots;
    if (queue_orders(q->o) || q->size.draws)
        q->order = attn_take(at, m->target_vocab, word);
    queue_lay_out_caches(q, at);
    queue_lay_out_places(q, at);
    if (m->kind == ATTN_ENCODER_DECODER && m->input_width > 0)
        q->source_input = attn_take(at, sources, m->input_width * 4);
    else if (m->kind == ATTN_ENCODER_DECODER)
        q->source_ids = attn_take(at, sources, word);
    q->source_start = attn_take(at, q->calls + 1, word);
    q->source_rows_of = attn_take(at, n, word);
    q->ids = attn_take(at, rows, word);
    q->start = attn_take(at, slots + 1, word);
    q->past = attn_take(at, slots, word);
    q->select = attn_take(at, slots, word);
    q->source = attn_take(at, slots, word);
    q->parents = attn_take(at, slots, word);
    q->scratch = attn_take(at, slots * (q->positions / ATTN_PAGE + 3), word);
    q->tokens = attn_take(at, q->positions + 1, word);
    q->logits = attn_take(at, slots, m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    const int64_t parts = attn_parts(q->o->parallel);
    int64_t arena = m->arena_bytes(rows, slots, parts);
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena, m->arena_bytes(sources, q->calls, parts));
    q->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_queue_bytes(const struct attn_model *m,
                                  const struct attn_search_options *o,
                                  const struct attn_queue_size *size)
{
    struct attn_memory at;
    struct attn_queue q = { 0 };
    int wrong = attn_check_choice(m, o);
    if (wrong == 0)
        wrong = search_rules(o);
    if (wrong == 0)
        wrong = queue_sizes(size, o);
    if (wrong)
        return wrong;
    q.model = m;
    q.o = o;
    q.size = *size;
    attn_memory_open(&at, NULL);
    attn_queue_lay_out(&q, &at);
    if (q.limit < 1 || o->prefix_n > q.limit)
        return ATTN_ERROR_LENGTH;
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}

/* draft.c: proposes the next tokens of a stream, so that one call of the model
 * reads them together with the last token, because a call that reads weights
 * from memory takes hardly longer for several rows than for one. The proposals
 * are those that followed the same tokens before, or those that a smaller model
 * chooses (stream.c).
 *
 * A proposal never changes the answer. The logits of the proposed rows stay in
 * the room, unread. The stream then chooses its tokens one by one as it would
 * without a draft. While each token that it chose is the one that was proposed,
 * the logits of the next row are there already. Any other token drops the rest.
 *
 * Rows that were read ahead are beyond the length of their slot, so they are in
 * no saved state and no fork. They are in the same page as the last token, so
 * they take no page, and windows give back no page earlier.
 *
 * How many tokens are proposed depends only on the sizes of the weights and on
 * how many were taken before. */

enum {
    DRAFT_LONGEST = 16, /* maximum tokens that are compared */
    DRAFT_HASH_BITS = 10,
    DRAFT_TRIES = 32,  /* maximum places that are compared */
    DRAFT_CREDIT = 16, /* maximum proposals that are paid for in advance */
    DRAFT_PAUSE = 64   /* maximum tokens until the next proposal */
};

/* When to propose. A row more costs little if a step reads its weights from
 * memory: measured with 4 to 440 MB, 4 to 27 % of a step. It costs up to 75 %
 * if the weights stay in the cache of a core. */
struct draft_rule {
    int64_t weights; /* minimum bytes */
    int64_t least;   /* tokens that must have occurred before */
    int64_t cost;    /* quarters of a step that a row takes */
    int64_t last;    /* index of the most proposals of a call */
};
static const struct draft_rule draft_rules[] = {
    { (int64_t)4 << 20, 2, 1, 3 },
    { 0, 4, 3, 1 },
};

static const struct draft_rule *draft_rule(const struct attn_model *m)
{
    const struct draft_rule *rule = draft_rules;
    while (m->weights_bytes < rule->weights)
        rule++;
    return rule;
}

/* Proposals of a call. A call has one row more, which fills the tiles of matrix
 * products: 7 rows can take longer than 8. */
static const int8_t draft_sizes[] = { 1, 3, 7, ATTN_DRAFT_MOST };

/* Returns why a stream of this model can have no draft, or NULL. */
ATTN_API const char *attn_draft_wrong(const struct attn_model *m)
{
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == ATTN_SELF && m->cache[i].states > 0)
            return "the states of recurrent layers and convolutions cannot go "
                   "back by a token";
    return NULL;
}

/* Returns why a smaller model cannot propose tokens to a stream of this one, or
 * NULL. */
ATTN_API const char *attn_drafter_wrong(const struct attn_model *m,
                                        const struct attn_drafter *by)
{
    const struct attn_model *d = by->model;
    if (d->kind != m->kind || d->input_width > 0)
        return "it is another kind of model";
    if (d->target_vocab != m->target_vocab)
        return "it has another number of tokens";
    if (m->kind == ATTN_ENCODER_DECODER && d->source_vocab != m->source_vocab)
        return "its source has another number of tokens";
    if (d->fixed_source > 0 || d->fixed_target > 0 || d->fixed_keys > 0
        || d->fixed_batch > 0 || d->fixed_ranks != m->fixed_ranks)
        return "it is compiled for a fixed number of rows, sequences or ranks";
    return attn_draft_wrong(d);
}

/* Ends the proposals of the last call, and decides how many the next call
 * gets. */
static void draft_settle(const struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    const int64_t proposed = d->end - d->first - 1;
    const int64_t taken = d->next - d->first - 1;
    d->end = 0;
    d->credit = attn_min(d->credit + d->gain * taken - proposed, DRAFT_CREDIT);
    if (taken == proposed) {
        d->size = attn_min(d->size + 1, draft_rule(s->model)->last);
        d->pause_after /= 2;
    } else if (2 * taken < proposed) {
        d->size = attn_max(d->size - 1, 0);
    }
    if (d->credit >= 0)
        return;
    d->credit = 0;
    d->pause = attn_max(d->pause_after, 1);
    d->pause_after = attn_min(2 * d->pause, DRAFT_PAUSE);
}

/* Takes memory for the drafts of streams, but not for a drafter. */
ATTN_API void attn_draft_take(struct attn_draft *d,
                              const struct attn_stream_request *r,
                              int64_t source_rows, struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    const int64_t word = sizeof(int32_t);
    int64_t quarters = draft_rule(m)->cost;
    d->most = ATTN_DRAFT_MOST;
    if (r->o->draft == ATTN_DRAFT_MODEL) {
        quarters += 4 * r->o->drafter->model->weights_bytes
                  / attn_max(m->weights_bytes, 1);
    } else {
        d->source = attn_take(at, source_rows, word);
        d->heads = attn_take(at, 1 << DRAFT_HASH_BITS, word);
        d->before = attn_take(at, source_rows + r->tokens, word);
    }
    d->gain = attn_max(4 / quarters, 1);
}

/* Drops the rows that were read ahead. */
ATTN_API void attn_draft_drop(struct attn_stream *s)
{
    if (s->room->draft.end > 0)
        draft_settle(s);
}

/* Returns the logits of the stream's last token if it was read ahead as a
 * proposal, and adds its row to the slot. Otherwise returns NULL. */
ATTN_API float *attn_draft_logits(struct attn_stream *s)
{
    struct attn_stream_room *r = s->room;
    struct attn_draft *d = &r->draft;
    const int64_t row = s->n - 1, ahead = row - d->first;
    if (row != d->next || row >= d->end || s->slot != d->slot)
        return NULL;
    if (s->read != row || s->tokens[row] != d->ids[ahead - 1])
        return NULL;
    if (attn_cache_grow(&r->self, s->slot, 1) < 0)
        return NULL;
    s->read++;
    d->next++;
    d->taken++;
    return r->logits + ahead * s->model->target_vocab;
}

/* ---- the text ---- */

/* The text is the source, then the tokens of the stream. It is indexed by the
 * hash of two tokens, so a step takes the same time however long it is. Streams
 * of one room that take turns index it anew. */
static const int32_t *draft_text(const struct attn_stream *s, int64_t at)
{
    const struct attn_draft *d = &s->room->draft;
    if (at < d->source_n)
        return d->source + at;
    return s->tokens + at - d->source_n;
}

/* Returns the latest indexed place whose two tokens have the hash of those that
 * end here, plus one. */
static int32_t *draft_head(const struct attn_draft *d, const int32_t *end)
{
    const uint32_t two = (uint32_t)end[-1] * 0x9e3779b1u + (uint32_t)end[0];
    return d->heads + ((two * 0x85ebca6bu) >> (32 - DRAFT_HASH_BITS));
}

/* Indexes the places of the text after which a token is known. */
static void draft_index(const struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    const int64_t end = d->source_n + s->n - 1;
    if (d->index_slot != s->slot || d->indexed > end)
        d->indexed = 0;
    if (d->indexed == 0)
        memset(d->heads, 0, sizeof *d->heads << DRAFT_HASH_BITS);
    d->index_slot = s->slot;
    for (; d->indexed < end; d->indexed++) {
        const int64_t at = d->indexed;
        if (at == 0 || at == d->source_n - 1 || at == d->source_n)
            continue; /* the end of the source, or a first token */
        int32_t *head = draft_head(d, draft_text(s, at));
        d->before[at] = *head;
        *head = (int32_t)(at + 1);
    }
}

/* Returns how many tokens up to this place are those at the end of the
 * stream. */
static int64_t draft_same(const struct attn_stream *s, int64_t at)
{
    const int64_t source = s->room->draft.source_n;
    const int64_t known = at < source ? at + 1 : at - source + 1;
    const int64_t most = attn_min(attn_min(known, s->n), DRAFT_LONGEST);
    const int32_t *a = draft_text(s, at), *b = s->tokens + s->n - 1;
    int64_t same = 0;
    while (same < most && a[-same] == b[-same])
        same++;
    return same;
}

/* Looks for the last tokens of the stream earlier in the text. Returns the
 * tokens that followed and sets *left to their number, or returns NULL. The
 * longest match counts, and of equally long ones the latest. */
static const int32_t *draft_match(const struct attn_stream *s, int64_t *left)
{
    const struct attn_draft *d = &s->room->draft;
    int64_t longest = draft_rule(s->model)->least - 1, found = -1;
    if (s->n <= longest)
        return NULL;
    int64_t at = *draft_head(d, s->tokens + s->n - 1) - 1;
    for (int i = 0; i < DRAFT_TRIES && at >= 0; i++) {
        const int64_t same = draft_same(s, at);
        if (same > longest) {
            longest = same;
            found = at;
        }
        at = d->before[at] - 1;
    }
    if (found < 0)
        return NULL;
    *left = ATTN_DRAFT_MOST; /* the stream goes on with its own proposals */
    if (found < d->source_n)
        *left = d->source_n - 1 - found;
    return draft_text(s, found) + 1;
}

/* ---- proposals ---- */

/* Returns how many tokens may be proposed: no row is read after the last token
 * that the stream has room for, or in another page. */
static int64_t draft_room(const struct attn_stream *s)
{
    int64_t n = s->room->draft.most;
    n = attn_min(n, s->room->width - 1 - s->n);
    n = attn_min(n, s->model->max_target - s->n);
    return attn_min(n, ATTN_PAGE - 1 - (s->n - 1) % ATTN_PAGE);
}

/* Drops the rows that were read ahead. Returns how many tokens may be proposed
 * now. */
ATTN_API int64_t attn_draft_most(struct attn_stream *s)
{
    struct attn_draft *d = &s->room->draft;
    attn_draft_drop(s);
    if (s->o.draft == ATTN_DRAFT_NONE || d->most == 0 || s->n - s->read != 1)
        return 0;
    if (d->pause > 0) {
        d->pause--;
        return 0;
    }
    return attn_min(draft_room(s), draft_sizes[d->size]);
}

/* Writes behind the stream's tokens what followed the last ones where they came
 * before, at most `most` tokens. Returns their number. */
ATTN_API int64_t attn_draft_repeat(struct attn_stream *s, int64_t most)
{
    int64_t left = 0, size = s->room->draft.size;
    draft_index(s);
    const int32_t *next = draft_match(s, &left);
    while (size >= 0 && draft_sizes[size] > attn_min(left, most))
        size--;
    if (size < 0)
        return 0;
    for (int64_t i = 0; i < draft_sizes[size]; i++)
        s->tokens[s->n + i] = next[i]; /* may be one that was just written */
    return draft_sizes[size];
}

/* Records that a call has read the last token and n proposals, whose logits are
 * in the room, and removes the rows of the proposals from the slot. */
ATTN_API void attn_draft_read(struct attn_stream *s, int64_t n)
{
    struct attn_draft *d = &s->room->draft;
    attn_cache_cut(&s->room->self, s->slot, s->read);
    memcpy(d->ids, s->tokens + s->read, (size_t)n * sizeof *d->ids);
    d->slot = s->slot;
    d->first = s->read - 1;
    d->next = s->read;
    d->end = s->read + n;
    d->proposed += n;
}

/* stream.c: one answer, token by token; or several answers that share the full
 * pages of their common beginning.
 *
 * A stream is a list of tokens. The first `read` of them are in its slot of the
 * self cache. The next token is chosen when all have been read. */

/* ---- memory ---- */

static int stream_sizes(const struct attn_model *m,
                        const struct attn_search_options *o,
                        int64_t source_rows, int64_t tokens, int64_t streams)
{
    int64_t least = 0, most = 0;
    int wrong = attn_check_choice(m, o);
    if (wrong)
        return wrong;
    if (m->input_width > 0) /* a source of numbers, not tokens */
        return ATTN_ERROR_KIND;
    if (m->kind == ATTN_ENCODER_DECODER) {
        least = 1;
        most = m->max_source;
    }
    if (o->draft && attn_draft_wrong(m))
        return ATTN_ERROR_KIND;
    if (o->draft == ATTN_DRAFT_MODEL && attn_drafter_wrong(m, o->drafter))
        return ATTN_ERROR_KIND;
    if (source_rows < least || source_rows > most)
        return ATTN_ERROR_LENGTH;
    if (tokens < 1 || tokens > attn_min(m->max_target + 1, ATTN_MOST))
        return ATTN_ERROR_LENGTH;
    return attn_check_count(streams, 1, INT16_MAX);
}

/* A smaller model that proposes has a stream of its own in the room of the
 * other, and chooses tokens as that one does: with its logits processors and,
 * if tokens are drawn, with its seed, so that the same numbers are drawn at the
 * same place. A grammar is left out, because its tables would grow with
 * proposals. Errors of the drafter, such as logits that are not finite, only
 * end its proposals, because the answer does not depend on them. */
static struct attn_search_options
drafter_choice(const struct attn_search_options *o)
{
    struct attn_search_options own = *o;
    own.draft = ATTN_DRAFT_NONE;
    own.drafter = NULL;
    own.prefix_n = 0;
    own.process.constrain = NULL;
    return own;
}

static int64_t drafter_tokens(const struct attn_stream_request *r)
{
    return attn_min(r->tokens, r->o->drafter->model->max_target + 1);
}

/* Takes memory for the drafter's stream, also if the source has too many rows
 * for it, so that longer sources never need less memory. */
static void drafter_take(struct attn_draft *d,
                         const struct attn_stream_request *r,
                         int64_t source_rows, struct attn_memory *at)
{
    const struct attn_search_options own = drafter_choice(r->o);
    const struct attn_model *m = r->o->drafter->model;
    d->bytes = attn_stream_bytes(m, &own, attn_min(source_rows, m->max_source),
                                 drafter_tokens(r), 1);
    if (d->bytes < 0) {
        at->used = -1;
        return;
    }
    d->by = attn_take(at, 1, sizeof *d->by);
    d->memory = attn_take(at, d->bytes, 1);
}

static void stream_lay_out(struct attn_stream_room *room,
                           const struct attn_stream_request *r,
                           int64_t source_rows, struct attn_memory *at)
{
    const struct attn_model *m = r->model;
    int64_t chunk = attn_cache_rows(m), rows = attn_min(r->tokens, chunk);
    int64_t positions = attn_min(r->tokens, m->max_target);
    int64_t parts = attn_parts(r->o->parallel);
    const struct attn_cache_size self = { ATTN_SELF, r->streams, positions, 0,
                                          chunk };
    const struct attn_cache_size cross = { ATTN_CROSS, 1, source_rows, 0, 0 };
    memset(room, 0, sizeof *room);
    room->width = r->tokens;
    room->streams = r->streams;
    room->source_rows = (int32_t)source_rows;
    attn_cache_take(&room->self, m, &self, at);
    if (m->kind == ATTN_ENCODER_DECODER)
        attn_cache_take(&room->cross, m, &cross, at);
    room->tokens = attn_take(at, r->streams * r->tokens, sizeof(int32_t));
    room->order = attn_take(at, m->target_vocab, sizeof(int32_t));
    if (r->o->draft)
        attn_draft_take(&room->draft, r, source_rows, at);
    if (r->o->draft == ATTN_DRAFT_MODEL)
        drafter_take(&room->draft, r, source_rows, at);
    room->logits = attn_take(at, 1 + room->draft.most,
                             m->target_vocab * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = m->arena_bytes(rows, 1, parts);
    if (m->kind == ATTN_ENCODER_DECODER)
        arena = attn_max(arena, m->arena_bytes(source_rows, 1, parts));
    room->arena = attn_take(at, arena, 1);
}

ATTN_API int64_t attn_stream_bytes(const struct attn_model *m,
                                   const struct attn_search_options *o,
                                   int64_t source_rows, int64_t tokens,
                                   int64_t streams)
{
    struct attn_memory at;
    struct attn_stream_room room;
    struct attn_stream_request r = { 0 };
    int wrong = stream_sizes(m, o, source_rows, tokens, streams);
    if (wrong)
        return wrong;
    r.model = m;
    r.o = o;
    r.tokens = tokens;
    r.streams = streams;
    attn_memory_open(&at, NULL);
    attn_take(&at, 1, sizeof room);
    stream_lay_out(&room, &r, source_rows, &at);
    if (at.used < 0)
        return ATTN_ERROR_COUNT;
    return attn_memory_bytes(&at);
}

/* Ends the proposals of a drafter for good. */
static void drafter_drop(struct attn_draft *d)
{
    d->by = NULL;
    d->most = 0;
}

static int drafter_begin(struct attn_draft *d,
                         const struct attn_stream_request *r,
                         int64_t source_rows)
{
    if (source_rows > r->o->drafter->model->max_source) {
        drafter_drop(d);
        return 0;
    }
    const struct attn_search_options own = drafter_choice(r->o);
    const struct attn_stream_request request = {
        .model = r->o->drafter->model,
        .bound = r->o->drafter->bound,
        .o = &own,
        .tokens = drafter_tokens(r),
        .streams = 1,
        .memory = d->memory,
        .bytes = d->bytes,
    };
    return attn_stream_empty(d->by, &request, source_rows);
}

ATTN_API int attn_stream_empty(struct attn_stream *s,
                               const struct attn_stream_request *r,
                               int64_t source_rows)
{
    struct attn_memory at;
    int64_t need = attn_stream_bytes(r->model, r->o, source_rows, r->tokens,
                                     r->streams);
    if (need < 0)
        return (int)need;
    if (!s || !r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    memset(s, 0, sizeof *s);
    attn_memory_open(&at, r->memory);
    s->room = attn_take(&at, 1, sizeof *s->room);
    stream_lay_out(s->room, r, source_rows, &at);
    s->model = r->model;
    s->bound = r->bound;
    s->o = *r->o;
    s->tokens = s->room->tokens;
    if (s->room->draft.by)
        return drafter_begin(&s->room->draft, r, source_rows);
    return 0;
}

/* ---- open ---- */

/* Checks that a stream is open and its options are valid. Returns 0 or an
 * error.                                                                    */
ATTN_API int attn_stream_check(const struct attn_stream *s)
{
    if (!s)
        return ATTN_ERROR_NULL;
    const struct attn_stream_room *r = s->room;
    if (!s->model || !s->bound || !r || s->slot < 0 || s->slot >= r->streams)
        return ATTN_ERROR_OPEN;
    if (s->tokens != r->tokens + s->slot * r->width)
        return ATTN_ERROR_OPEN;
    if (s->n < 0 || s->n > r->width || s->lead < 0 || s->lead > s->n)
        return ATTN_ERROR_OPEN;
    if (s->read > s->n || s->read != r->self.length[s->slot])
        return ATTN_ERROR_OPEN;
    return attn_check_choice(s->model, &s->o);
}

static int stream_source(struct attn_stream *s, const int32_t *ids, int64_t n)
{
    struct attn_stream_room *r = s->room;
    struct attn_batch b = { 0 };
    int32_t start[2];
    if (attn_cache_grow(&r->cross, 0, n) < 0)
        return ATTN_ERROR_ROOM;
    start[0] = 0;
    start[1] = (int32_t)n;
    b.parallel = s->o.parallel;
    b.sequences = 1;
    b.rows = n;
    b.start = start;
    b.ids = ids;
    attn_cache_bind(&r->cross, 0, &b);
    if (s->o.draft == ATTN_DRAFT_NGRAM
        && s->model->source_vocab == s->model->target_vocab) {
        memcpy(r->draft.source, ids, (size_t)n * sizeof *ids);
        r->draft.source_n = n;
    }
    return attn_enter(s->model, s->bound, &b, r->arena, 0);
}

ATTN_API int attn_stream_feed(struct attn_stream *s, const int32_t *ids,
                              int64_t n)
{
    int wrong = attn_stream_check(s);
    if (wrong == 0)
        wrong = attn_check_ids(ids, n, s->model->target_vocab);
    if (wrong)
        return wrong;
    if (n > s->room->width - s->n)
        return ATTN_ERROR_ROOM;
    if (n == 0)
        return 0;
    for (int64_t i = 0; i < n; i++)
        s->tokens[s->n + i] = ids[i];
    s->n += n;
    if (s->model->kind == ATTN_DECODER)
        s->lead = s->n;
    s->ended = 0;
    return 0;
}

ATTN_API int attn_stream_open(struct attn_stream *s,
                              const struct attn_stream_request *r)
{
    const struct attn_model *m = r->model;
    int64_t source_rows = 0, vocab = m->target_vocab;
    if (m->kind == ATTN_ENCODER_DECODER) {
        source_rows = r->n;
        vocab = m->source_vocab;
    }
    int wrong = attn_check_ids(r->ids, r->n, vocab);
    if (wrong == 0)
        wrong = attn_stream_empty(s, r, source_rows);
    if (wrong)
        return wrong;
    if (r->o->start >= 0) {
        s->tokens[0] = r->o->start;
        s->n = 1;
        s->lead = 1;
    }
    if (m->kind == ATTN_ENCODER_DECODER)
        wrong = stream_source(s, r->ids, r->n);
    else
        wrong = attn_stream_feed(s, r->ids, r->n);
    if (wrong == 0 && source_rows > 0 && s->room->draft.by
        && stream_source(s->room->draft.by, r->ids, r->n) != 0)
        drafter_drop(&s->room->draft);
    if (wrong)
        s->room = NULL; /* closes the stream */
    return wrong;
}

/* ---- tokens ---- */

/* Reads the tokens before index `to`, and leaves the logits of the last one in
 * the room. `ahead` proposals follow them, whose rows and logits are read too.
 * If there are any, only one token is read before them. */
static int stream_read(struct attn_stream *s, int64_t to, int64_t ahead)
{
    struct attn_stream_room *r = s->room;
    struct attn_batch b = { 0 };
    int32_t start[2], past, select[1 + ATTN_DRAFT_MOST];
    const int32_t source = 0;
    b.sequences = 1;
    b.selected = 1 + ahead;
    b.start = start;
    b.past = &past;
    b.select = select;
    b.source = &source;
    b.source_rows = &r->source_rows;
    b.parallel = s->o.parallel;
    b.output = r->logits;
    attn_cache_bind(&r->self, s->slot, &b);
    attn_cache_bind(&r->cross, 0, &b);
    start[0] = 0;
    while (s->read < to) {
        int64_t n = attn_min(to - s->read, attn_cache_rows(s->model));
        for (int64_t i = 0; i <= ahead; i++)
            select[i] = (int32_t)(n - 1 + i);
        start[1] = (int32_t)(n + ahead);
        past = (int32_t)s->read;
        b.rows = n + ahead;
        b.ids = s->tokens + s->read;
        if (attn_cache_grow(&r->self, s->slot, n + ahead) < 0)
            return ATTN_ERROR_ROOM;
        int wrong = attn_enter(s->model, s->bound, &b, r->arena, 1);
        if (wrong)
            return wrong;
        s->read += n;
    }
    if (ahead > 0)
        attn_draft_read(s, ahead);
    return 0;
}

static int stream_stops(const struct attn_stream *s, int64_t token)
{
    for (int64_t i = 0; i < s->stops; i++)
        if (s->stop[i] == token)
            return 1;
    return attn_ends(&s->o, token);
}

/* Appends a token without running the model. */
static int64_t stream_forced(struct attn_stream *s, int64_t token)
{
    s->tokens[s->n] = (int32_t)token;
    s->n++;
    return token;
}

/* ---- proposals ---- */

/* Cuts a stream to its first tokens. If an earlier page is needed again that
 * was given back, none stays read. */
static void drafter_cut(struct attn_stream *s, int64_t length)
{
    struct attn_cache *c = &s->room->self;
    for (int64_t i = 0; i < c->groups; i++)
        if (c->group[i].first[0] > attn_cache_first(&c->group[i].is, length))
            length = 0;
    attn_cache_cut(c, 0, length);
    s->read = length;
}

/* Gives a stream the tokens of another. Those that both have stay read. */
static void drafter_follow(struct attn_stream *to, const struct attn_stream *s)
{
    int64_t same = 0;
    while (same < to->n && same < s->n && to->tokens[same] == s->tokens[same])
        same++;
    if (to->read > same)
        drafter_cut(to, same);
    memcpy(to->tokens + same, s->tokens + same,
           (size_t)(s->n - same) * sizeof *s->tokens);
    to->n = s->n;
    to->lead = s->lead;
    to->ended = 0;
}

static int64_t drafter_guess(struct attn_stream *s, int64_t most)
{
    struct attn_stream *by = s->room->draft.by;
    int64_t n = 0;
    if (s->n > by->room->width)
        return 0;
    if (s->model->kind == ATTN_ENCODER_DECODER
        && by->room->source_rows != by->room->cross.length[0])
        return 0;                  /* a restored state has no source to read */
    by->o = drafter_choice(&s->o); /* they may have changed */
    drafter_follow(by, s);
    while (n < most) {
        const int64_t token = attn_stream_next(by);
        if (attn_stream_failed(token))
            drafter_drop(&s->room->draft);
        if (token < 0)
            break;
        s->tokens[s->n + n] = (int32_t)token;
        n++;
    }
    return n;
}

/* Writes proposals behind the tokens. Returns their number. */
static int64_t stream_propose(struct attn_stream *s)
{
    const int64_t most = attn_draft_most(s);
    if (most < 1)
        return 0;
    return s->room->draft.by ? drafter_guess(s, most)
                             : attn_draft_repeat(s, most);
}

/* Returns the logits of the last token, or NULL with *wrong. */
static float *stream_logits(struct attn_stream *s, int *wrong)
{
    float *logits = attn_draft_logits(s);
    *wrong = 0;
    if (logits)
        return logits;
    if (s->read == s->n) { /* the last logits were overwritten: read again */
        s->read--;
        attn_cache_cut(&s->room->self, s->slot, s->read);
    }
    *wrong = stream_read(s, s->n, stream_propose(s));
    return *wrong ? NULL : s->room->logits;
}

ATTN_API int64_t attn_stream_next(struct attn_stream *s)
{
    int wrong = attn_stream_check(s);
    if (wrong == 0)
        wrong = attn_check_ids(s->stop, s->stops, s->model->target_vocab);
    if (wrong)
        return wrong;
    struct attn_stream_room *r = s->room;
    int64_t vocab = s->model->target_vocab, answer = s->n - s->lead;
    if (s->ended)
        return ATTN_STREAM_END;
    if (s->n == 0 || s->n >= r->width || s->n > s->model->max_target)
        return ATTN_STREAM_FULL;
    if (answer < s->o.prefix_n)
        return stream_forced(s, s->o.prefix[answer]);
    float *logits = stream_logits(s, &wrong);
    if (wrong == ATTN_ERROR_FIXED)
        return wrong;
    if (wrong)
        return ATTN_STREAM_FULL;
    if (!attn_logits_finite(logits, vocab))
        return ATTN_ERROR_FINITE;
    const struct attn_process_row row = { &s->o,   logits, vocab,   s->tokens,
                                          s->lead, s->n,   r->order };
    wrong = attn_process_logits(&row);
    if (wrong)
        return wrong;
    attn_forbid_logits(&s->o, logits, vocab);
    int64_t token = attn_sample(&s->o.sampling, logits, vocab, answer,
                                r->order);
    if (token < 0)
        return ATTN_STREAM_FULL;
    s->ended = stream_stops(s, token);
    if (s->ended)
        return ATTN_STREAM_END;
    s->tokens[s->n] = (int32_t)token;
    s->n++;
    return token;
}

ATTN_API int attn_stream_failed(int64_t token)
{
    return token == ATTN_ERROR_FINITE || token == ATTN_ERROR_FIXED
        || token == ATTN_ERROR_GRAMMAR;
}

ATTN_API int attn_stream_fork(struct attn_stream *to, struct attn_stream *from,
                              int64_t slot)
{
    struct attn_stream s;
    int wrong = attn_stream_check(from);
    if (!to)
        return ATTN_ERROR_NULL;
    if (wrong)
        return wrong;
    if (slot < 0 || slot >= from->room->streams || slot == from->slot)
        return ATTN_ERROR_OPEN;
    attn_draft_drop(from);
    from->room->draft.indexed = 0;
    wrong = stream_read(from, from->n - 1, 0); /* reads the tokens that both
                                                * streams share */
    if (wrong)
        return wrong;
    s = *from;
    s.slot = slot;
    s.tokens = s.room->tokens + slot * s.room->width;
    memcpy(s.tokens, from->tokens, (size_t)s.n * sizeof *s.tokens);
    attn_cache_fork(&s.room->self, from->slot, slot);
    *to = s; /* may be `from` */
    return 0;
}

/* state.c: saves a stream as bytes and restores it: a header, the tokens, then
 * the used part of every page that a later row may read, first of each self
 * cache, then of each cross cache. A restored stream continues with
 * bit-identical results.
 *
 * The same code writes and reads the bytes. */

struct state_walk {
    char *to;         /* destination, when saving */
    const char *from; /* source, when restoring */
    int64_t n;        /* number of bytes moved so far */
};

static void state_move(struct state_walk *w, void *memory, int64_t bytes)
{
    if (w->to)
        memcpy(w->to + w->n, memory, (size_t)bytes);
    if (w->from)
        memcpy(memory, w->from + w->n, (size_t)bytes);
    w->n += bytes;
}

/* Pads with zeros, so that the next part is aligned. */
static void state_align(struct state_walk *w)
{
    int64_t end = (w->n + 7) / 8 * 8;
    if (w->to)
        memset(w->to + w->n, 0, (size_t)(end - w->n));
    w->n = end;
}

/* Moves the panels of 16 keys that hold the first `used` keys. Unused lanes are
 * saved as zeros, whatever the page contains. */
static void state_keys(struct state_walk *w, const struct attn_cache_layout *is,
                       char *keys, int64_t used)
{
    const int64_t element = attn_cache_element(is);
    for (int64_t first = 0; first < used; first += ATTN_PANEL) {
        int64_t lanes = attn_min(used - first, ATTN_PANEL);
        for (int64_t d = 0; d < is->d_k; d++) {
            char *at = w->to ? w->to + w->n : NULL;
            state_move(w, keys, ATTN_PANEL * element);
            keys += ATTN_PANEL * element;
            if (at)
                memset(at + lanes * element, 0,
                       (size_t)((ATTN_PANEL - lanes) * element));
        }
    }
}

static void state_page(struct state_walk *w, const struct attn_cache_group *g,
                       char *page, int64_t used)
{
    const int64_t element = attn_cache_element(&g->is);
    const int64_t scale = attn_cache_scale(&g->is);
    for (int64_t b = 0; b < g->is.blocks; b++) {
        state_keys(w, &g->is, page, used);
        page += ATTN_PAGE * g->is.d_k * element;
        for (int64_t v = 0; v < g->is.v_panels; v++) {
            state_move(w, page, used * ATTN_PANEL * element);
            page += ATTN_PAGE * ATTN_PANEL * element;
        }
        for (int64_t part = 0; part < 2; part++) {
            state_move(w, page, used * scale);
            page += ATTN_PAGE * scale;
        }
    }
}

static void state_slot(struct state_walk *w, const struct attn_cache *c,
                       int64_t slot)
{
    const int64_t length = c->length[slot];
    for (int64_t i = 0; i < c->groups; i++) {
        const struct attn_cache_group *g = &c->group[i];
        const int32_t *table = g->table + slot * c->width;
        int64_t at = attn_cache_first(&g->is, length) * ATTN_PAGE;
        for (; at < length; at += ATTN_PAGE)
            state_page(w, g, (char *)attn_cache_page(g, table[at / ATTN_PAGE]),
                       attn_min(length - at, ATTN_PAGE));
    }
}

/* Moves the states of the recurrent layers after the last two rows, because the
 * last row may be read again. */
static void state_steps(struct state_walk *w, const struct attn_cache *c,
                        int64_t slot)
{
    const int64_t length = c->length[slot], states = c->group[0].is.states;
    for (int64_t row = length - 2; row < length && states; row++)
        if (row >= 0)
            state_move(w, attn_cache_state(c, slot, row),
                       states * (int64_t)sizeof(float));
}

/* Moves everything after the header. */
static void state_body(struct state_walk *w, const struct attn_stream *s)
{
    state_move(w, s->tokens, s->n * (int64_t)sizeof *s->tokens);
    state_align(w);
    state_slot(w, &s->room->self, s->slot);
    state_steps(w, &s->room->self, s->slot);
    if (s->model->kind == ATTN_ENCODER_DECODER) {
        state_slot(w, &s->room->cross, 0);
        state_steps(w, &s->room->cross, 0);
    }
}

/* ---- size ---- */

/* Returns the size of a slot's rows in one cache. Keys are in panels of 16; the
 * last panel is padded. */
static int64_t state_group_size(const struct attn_cache_layout *is,
                                int64_t length)
{
    const int64_t rows = length - attn_cache_first(is, length) * ATTN_PAGE;
    const int64_t keys = (rows + ATTN_PANEL - 1) / ATTN_PANEL * ATTN_PANEL
                       * is->d_k;
    const int64_t values = rows * ATTN_PANEL * is->v_panels;
    const int64_t states = attn_min(length, 2) * is->states;
    return is->blocks
             * ((keys + values) * attn_cache_element(is)
                + 2 * rows * attn_cache_scale(is))
         + states * (int64_t)sizeof(float);
}

/* Returns the bytes of all caches of ATTN_SELF or of ATTN_CROSS. */
static int64_t state_rows_size(const struct attn_model *m, int of, int64_t rows)
{
    int64_t n = 0;
    for (int64_t i = 0; i < m->caches; i++)
        if (m->cache[i].of == of)
            n += state_group_size(&m->cache[i], rows);
    return n;
}

/* Returns the size of a state with this many tokens, rows in its self cache
 * (`read`), and source rows. */
static int64_t state_size(const struct attn_model *m, int64_t tokens,
                          int64_t read, int64_t source_rows)
{
    int64_t n = (int64_t)sizeof(struct attn_state_header);
    n += (tokens * (int64_t)sizeof(int32_t) + 7) / 8 * 8;
    n += state_rows_size(m, ATTN_SELF, read);
    if (m->kind == ATTN_ENCODER_DECODER)
        n += state_rows_size(m, ATTN_CROSS, source_rows);
    return n;
}

/* ---- hash ---- */

enum {
    STATE_SEED_MODEL = 1,
    STATE_SEED_CONTENTS = 2,
    STATE_SEED_WEIGHTS = 3,
    STATE_SEED_CACHES = 4
};

/* Returns a hash of everything that affects the meaning of a cached number. */
static uint64_t state_model_hash(const struct attn_model *m, uint64_t weights)
{
    int64_t sizes[8];
    sizes[0] = (int64_t)m->weights_hash;
    sizes[1] = (int64_t)weights;
    sizes[2] = m->kind;
    sizes[3] = m->d_model;
    sizes[4] = m->source_vocab;
    sizes[5] = m->target_vocab;
    sizes[6] = (int64_t)m->spec_hash; /* eps, scales, masks, ... */
    sizes[7] = (int64_t)attn_hash(m->cache,
                                  m->caches * (int64_t)sizeof *m->cache,
                                  STATE_SEED_CACHES);
    return attn_hash(sizes, (int64_t)sizeof sizes, STATE_SEED_MODEL);
}

/* Returns a hash of the weights at `packed`, with which a restored state
 * detects other weights. */
ATTN_API uint64_t attn_weights_hash(const struct attn_model *m,
                                    const void *packed)
{
    return attn_hash(packed, m->weights_bytes, STATE_SEED_WEIGHTS);
}

ATTN_API uint64_t attn_state_weights(const struct attn_model *m,
                                     const void *file)
{
    const struct attn_packed_header *h = file;
    const void *packed = attn_packed_weights(file);
    if (!packed || h->weights_bytes != m->weights_bytes)
        return 0;
    return attn_weights_hash(m, packed);
}

static uint64_t state_sum(const void *state, int64_t bytes)
{
    const struct attn_state_header *h = state;
    int64_t from = (int64_t)sizeof h->magic + (int64_t)sizeof h->hash;
    return attn_hash((const char *)state + from, bytes - from,
                     STATE_SEED_CONTENTS);
}

/* ---- save ---- */

ATTN_API int64_t attn_state_bytes(const struct attn_stream *s)
{
    int wrong = attn_stream_check(s);
    if (wrong)
        return wrong;
    if (s->o.parallel && s->o.parallel->comm)
        return ATTN_ERROR_RANKS; /* it has the keys of some heads */
    return state_size(s->model, s->n, s->read, s->room->source_rows);
}

ATTN_API int64_t attn_state_save(const struct attn_stream *s, uint64_t weights,
                                 void *out, int64_t cap)
{
    struct attn_state_header h = { 0 };
    struct state_walk w = { 0 };
    h.bytes = attn_state_bytes(s);
    if (h.bytes < 0)
        return h.bytes;
    if (!out)
        return ATTN_ERROR_NULL;
    if ((uintptr_t)out % 8 != 0)
        return ATTN_ERROR_ALIGNED;
    if (h.bytes > cap)
        return ATTN_ERROR_ROOM;
    memcpy(h.magic, "ATTNST04", sizeof h.magic);
    h.model = state_model_hash(s->model, weights);
    h.format = s->model->cache[ATTN_SELF].format;
    h.tokens = s->n;
    h.lead = s->lead;
    h.read = s->read;
    h.source_rows = s->room->source_rows;
    memcpy(out, &h, sizeof h);
    w.to = out;
    w.n = (int64_t)sizeof h;
    state_body(&w, s);
    h.hash = state_sum(out, h.bytes);
    memcpy(out, &h, sizeof h);
    return h.bytes;
}

/* ---- restore ---- */

/* True if a stream of this model could have these lengths. */
static int state_lengths_fit(const struct attn_model *m,
                             const struct attn_state_header *h)
{
    const int64_t source = m->kind == ATTN_ENCODER_DECODER;
    if (h->tokens < source || h->tokens > m->max_target + 1)
        return 0; /* an encoder-decoder has a start token */
    if (h->lead < source || h->lead > h->tokens)
        return 0;
    if (h->read < 0 || h->read > attn_min(h->tokens, m->max_target))
        return 0;
    return source ? h->source_rows >= 1 && h->source_rows <= m->max_source
                  : h->source_rows == 0;
}

/* True if the bytes begin like a saved state of any version. */
ATTN_API int attn_state_begins(const void *at, int64_t bytes)
{
    return at && bytes >= 8 && memcmp(at, "ATTNST", 6) == 0;
}

/* Returns NULL if the bytes are complete and unchanged since attn_state_save(),
 * otherwise a message. */
static const char *state_wrong_bytes(const struct attn_state_header *h,
                                     int64_t bytes)
{
    if (!attn_state_begins(h, bytes))
        return "not a saved state: its first bytes are not ATTNST04";
    if ((uintptr_t)h % 8 != 0)
        return "not at a multiple of 8 bytes";
    if (memcmp(h->magic, "ATTNST04", sizeof h->magic) != 0)
        return "saved by another version of attnc: its format is not ATTNST04; "
               "save it again";
    if (bytes < (int64_t)sizeof *h || bytes < h->bytes)
        return "cut short: fewer bytes than it states";
    if (bytes > h->bytes)
        return "damaged: more bytes than it states";
    if (h->hash != state_sum(h, bytes))
        return "damaged: its contents are not what was saved";
    return NULL;
}

ATTN_API const char *attn_state_check(const struct attn_model *m,
                                      uint64_t weights, const void *state,
                                      int64_t bytes)
{
    const struct attn_state_header *h = state;
    const char *wrong = state_wrong_bytes(h, bytes);
    if (wrong)
        return wrong;
    if (h->format != m->cache[ATTN_SELF].format)
        return "saved with a cache in another format, or by another model: set "
               "the spec's `cache` to what it was when the state was saved";
    if (h->model != state_model_hash(m, weights))
        return "saved by another model or with other weights";
    if (!state_lengths_fit(m, h))
        return "forged: its lengths are not of this model";
    if (bytes != state_size(m, h->tokens, h->read, h->source_rows))
        return "forged: it has not the bytes of its lengths";
    if (attn_check_ids((const int32_t *)(h + 1), h->tokens, m->target_vocab))
        return "forged: a token that is not of this model";
    return NULL;
}

/* Grows a slot to `length` positions, in steps of at most `rows`, because the
 * cache has space for no larger step. */
static int state_grow(struct attn_cache *c, int64_t length, int64_t rows)
{
    int wrong = 0;
    for (int64_t n = 0; n < length && wrong == 0; n += rows)
        wrong = attn_cache_grow(c, 0, attn_min(length - n, rows));
    return wrong;
}

/* Fills an empty stream from a checked state. */
static int state_read(struct attn_stream *s, const void *state)
{
    const struct attn_state_header *h = state;
    struct state_walk w = { 0 };
    s->n = h->tokens;
    s->lead = h->lead;
    s->read = h->read;
    if (state_grow(&s->room->self, s->read, attn_cache_rows(s->model)) < 0)
        return ATTN_ERROR_STATE;
    if (s->model->kind == ATTN_ENCODER_DECODER) {
        if (attn_cache_grow(&s->room->cross, 0, h->source_rows) < 0)
            return ATTN_ERROR_STATE;
    }
    w.from = state;
    w.n = (int64_t)sizeof *h;
    state_body(&w, s);
    return 0;
}

ATTN_API int attn_state_restore(struct attn_stream *s,
                                const struct attn_restore_request *r)
{
    const struct attn_state_header *h = r->state;
    struct attn_stream_request empty = { 0 };
    if (attn_state_check(r->model, r->weights, r->state, r->bytes))
        return ATTN_ERROR_STATE;
    if (r->tokens < h->tokens)
        return ATTN_ERROR_LENGTH;
    empty.model = r->model;
    empty.bound = r->bound;
    empty.o = r->o;
    empty.tokens = r->tokens;
    empty.streams = r->streams;
    empty.memory = r->memory;
    empty.bytes = r->memory_bytes;
    int wrong = attn_stream_empty(s, &empty, h->source_rows);
    if (wrong)
        return wrong;
    wrong = state_read(s, r->state);
    if (wrong)
        s->room = NULL; /* closes the stream */
    return wrong;
}

/* score.c: what a decoder computes for known tokens. The sources of all pairs
 * are encoded in one call. Then the decoder reads the tokens of one pair after
 * the other, a limited number of rows in a call, so that the logits take little
 * memory. No row is padding. */

enum {
    SCORE_LEAST = 64,     /* rows that the decoder reads at once: at least, */
    SCORE_MOST = 256,     /* at most, */
    SCORE_BYTES = 1 << 22 /* and in between, such that logits have so many
                           * bytes */
};

struct score {
    const struct attn_score_request *r;
    struct attn_cache self, cross;
    int64_t rows;    /* maximum rows of a call of the decoder */
    int64_t sources; /* number of rows of all sources; 0: no encoder */
    int64_t given;   /* number of rows given so far */
    int32_t *ids, *start, *past, *select, *source, *source_rows;
    float *output; /* [rows][output_columns] of a call */
    void *arena;
};

/* ---- sizes ---- */

static int score_encodes(const struct attn_score_request *r)
{
    return r->model->kind == ATTN_ENCODER_DECODER;
}

/* Returns the number of rows that the decoder reads for a pair. */
static int64_t score_rows(const struct attn_score_request *r,
                          const struct attn_score_pair *p)
{
    return (r->start >= 0) + (score_encodes(r) ? 0 : p->source_n) + r->prefix_n
         + p->target_n - 1;
}

static int64_t score_given(const struct attn_score_pair *p)
{
    return p->rows > 0 ? p->rows : p->target_n;
}

/* Returns the maximum pairs of a request: one if the model has a fixed size. */
ATTN_API int64_t attn_score_most(const struct attn_model *m)
{
    (void)m;
    return ATTN_SCORE_PAIRS;
}

/* Returns the size of a cache: as many pages as the rows of all pairs need. */
static struct attn_cache_size score_cache(const struct score *s, int which)
{
    const struct attn_score_request *r = s->r;
    int64_t longest = 0, pages = 0;

    for (int64_t i = 0; i < r->pairs; i++) {
        int64_t rows = r->pair[i].source_n;
        if (which == ATTN_SELF)
            rows = attn_min(score_rows(r, &r->pair[i]), r->model->max_target);
        longest = attn_max(longest, rows);
        pages += attn_cache_pages(rows);
    }
    return (struct attn_cache_size){
        .which = which,
        .slots = r->pairs,
        .length = longest,
        .pages = pages,
        .rows = which == ATTN_SELF ? s->rows : 0,
    };
}

/* Sets s->rows and s->sources. A pair that a later check refuses counts at most
 * the model's number of positions. */
static void score_size(struct score *s)
{
    const struct attn_score_request *r = s->r;
    const struct attn_model *m = r->model;
    const int64_t fit = SCORE_BYTES / 4 / m->output_columns;
    const int64_t most = attn_max(attn_min(fit, SCORE_MOST), SCORE_LEAST);
    int64_t rows = 0;

    s->sources = 0;
    for (int64_t i = 0; i < r->pairs; i++) {
        rows += attn_min(score_rows(r, &r->pair[i]), m->max_target);
        s->sources += score_encodes(r) ? r->pair[i].source_n : 0;
    }
    s->rows = attn_min(rows, attn_min(most, attn_cache_rows(m)));
}

static void score_lay_out(struct score *s, struct attn_memory *at)
{
    const struct attn_score_request *r = s->r;
    const struct attn_model *m = r->model;
    const int64_t word = sizeof(int32_t), n = r->pairs;
    const int64_t parts = attn_parts(r->parallel);

    score_size(s);
    const struct attn_cache_size self = score_cache(s, ATTN_SELF);
    const struct attn_cache_size cross = score_cache(s, ATTN_CROSS);
    attn_cache_take(&s->self, m, &self, at);
    if (score_encodes(r))
        attn_cache_take(&s->cross, m, &cross, at);
    s->ids = attn_take(at, attn_max(s->rows, s->sources), word);
    s->select = attn_take(at, s->rows, word);
    s->start = attn_take(at, n + 1, word);
    s->past = attn_take(at, n, word);
    s->source = attn_take(at, n, word);
    s->source_rows = attn_take(at, n, word);
    s->output = attn_take(at, s->rows,
                          m->output_columns * (int64_t)sizeof(float));
    if (at->used < 0)
        return;
    int64_t arena = m->arena_bytes(s->rows, n, parts);
    if (score_encodes(r))
        arena = attn_max(arena,
                         m->arena_bytes(attn_max(s->sources, 1), n, parts));
    s->arena = attn_take(at, arena, 1);
}

/* Returns the number of bytes needed, or an error. Only the sizes of the pairs
 * are read, not their tokens. */
ATTN_API int64_t attn_score_bytes(const struct attn_score_request *r)
{
    const struct attn_model *m = r->model;
    struct attn_memory at;
    struct score s = { .r = r };

    if (m->kind != ATTN_ENCODER_DECODER && m->kind != ATTN_DECODER)
        return ATTN_ERROR_KIND;
    if (r->pairs < 0 || r->pairs > ATTN_SCORE_PAIRS || r->prefix_n < 0
        || r->prefix_n > ATTN_MOST)
        return ATTN_ERROR_COUNT;
    for (int64_t i = 0; i < r->pairs; i++) {
        const struct attn_score_pair *p = &r->pair[i];
        if (p->source_n < 0 || p->source_n > ATTN_MOST || p->target_n < 0
            || p->target_n > ATTN_MOST)
            return ATTN_ERROR_COUNT;
    }
    const int wrong = attn_check_parallel(m, r->parallel);
    if (wrong)
        return wrong;
    attn_memory_open(&at, NULL);
    score_lay_out(&s, &at);
    return at.used < 0 ? ATTN_ERROR_COUNT : attn_memory_bytes(&at);
}

/* Checks the tokens and sizes of a pair. Returns 0 or an error. */
ATTN_API int attn_score_check(const struct attn_score_request *r,
                              const struct attn_score_pair *p)
{
    const struct attn_model *m = r->model;
    const int64_t rows = score_rows(r, p);
    int wrong = attn_check_ids(p->target, p->target_n, m->target_vocab);

    if (wrong == 0)
        wrong = attn_check_ids(r->prefix, r->prefix_n, m->target_vocab);
    if (wrong == 0)
        wrong = attn_check_ids(p->source, p->source_n,
                               score_encodes(r) ? m->source_vocab
                                                : m->target_vocab);
    if (wrong)
        return wrong;
    if (r->start >= m->target_vocab)
        return ATTN_ERROR_ID;
    if (score_encodes(r) && m->input_width > 0)
        return ATTN_ERROR_KIND;
    if (score_encodes(r) && (p->source_n < 1 || p->source_n > m->max_source))
        return ATTN_ERROR_LENGTH;
    if (p->target_n < 1 || rows < score_given(p) || rows > m->max_target)
        return ATTN_ERROR_LENGTH;
    return 0;
}

/* ---- calls of the model ---- */

/* Encodes all sources. Returns 0 or an error. */
static int score_sources(struct score *s)
{
    const struct attn_score_request *r = s->r;
    struct attn_batch b = { .sequences = r->pairs,
                            .start = s->start,
                            .ids = s->ids,
                            .parallel = r->parallel };

    s->start[0] = 0;
    for (int64_t i = 0; i < r->pairs; i++) {
        const struct attn_score_pair *p = &r->pair[i];
        if (attn_cache_grow(&s->cross, i, p->source_n) < 0)
            return ATTN_ERROR_ROOM;
        memcpy(s->ids + b.rows, p->source,
               (size_t)p->source_n * sizeof *s->ids);
        b.rows += p->source_n;
        s->start[i + 1] = (int32_t)b.rows;
        s->source_rows[i] = (int32_t)p->source_n;
    }
    attn_cache_bind(&s->cross, 0, &b);
    return attn_enter(r->model, r->bound, &b, s->arena, 0);
}

/* Copies n of the tokens that the decoder reads, which follow `past` others. */
static void score_tokens(const struct attn_score_request *r,
                         const struct attn_score_pair *p, int64_t past,
                         int64_t n, int32_t *to)
{
    const int32_t *const part[] = { &r->start, p->source, r->prefix,
                                    p->target };
    const int64_t size[] = { r->start >= 0, score_encodes(r) ? 0 : p->source_n,
                             r->prefix_n, p->target_n - 1 };

    for (int i = 0; i < 4; i++) {
        const int64_t k = attn_min(attn_max(size[i] - past, 0), n);
        if (k > 0)
            memcpy(to, part[i] + past, (size_t)k * sizeof *to);
        past = attn_max(past - size[i], 0);
        to += k;
        n -= k;
    }
}

/* Adds n rows of a pair, which follow `past` others, to a call of the decoder.
 * Returns 0 or an error. */
static int score_add(struct score *s, struct attn_batch *b, int64_t pair,
                     int64_t past, int64_t n)
{
    const struct attn_score_pair *p = &s->r->pair[pair];
    const int64_t first = score_rows(s->r, p) - score_given(p);

    if (attn_cache_grow(&s->self, pair, n) < 0)
        return ATTN_ERROR_ROOM;
    score_tokens(s->r, p, past, n, s->ids + b->rows);
    for (int64_t i = attn_max(first - past, 0); i < n; i++) {
        s->select[b->selected] = (int32_t)(b->rows + i);
        b->selected++;
    }
    s->past[b->sequences] = (int32_t)past;
    s->source[b->sequences] = (int32_t)pair;
    b->rows += n;
    b->sequences++;
    s->start[b->sequences] = (int32_t)b->rows;
    return 0;
}

/* Stores the log-probability of the target token that a row precedes, or the
 * row itself if these are asked for. */
static void score_token(struct score *s, const struct attn_score_pair *p,
                        int64_t i, const float *logits)
{
    const struct attn_model *m = s->r->model;

    float *to = s->r->log_probability + s->given;
    *to = NAN;
    if (attn_logits_finite(logits, m->target_vocab))
        *to = attn_log_probability(logits[p->target[i]],
                                   m->log_sum_exp(s->r->bound, logits,
                                                  m->target_vocab));
}

/* Gives the rows of a call, whose first pair is `pair`. */
static void score_give(struct score *s, const struct attn_batch *b,
                       int64_t pair)
{
    const int64_t columns = s->r->model->output_columns;
    int64_t part = 0;

    for (int64_t i = 0; i < b->selected; i++) {
        const float *row = s->output + i * columns;
        while (b->select[i] >= b->start[part + 1])
            part++;
        const struct attn_score_pair *p = &s->r->pair[pair + part];
        const int64_t at = b->past[part] + b->select[i] - b->start[part];
        score_token(s, p, at - (score_rows(s->r, p) - p->target_n), row);
        s->given++;
    }
}

/* Reads the next rows, beginning with row *row of *pair, and moves both behind
 * them. Returns 0 or an error. */
static int score_chunk(struct score *s, int64_t *pair, int64_t *row)
{
    const struct attn_score_request *r = s->r;
    const int64_t first = *pair;
    struct attn_batch b = { .start = s->start,
                            .ids = s->ids,
                            .past = s->past,
                            .select = s->select,
                            .source = s->source,
                            .source_rows = s->source_rows,
                            .output = s->output,
                            .parallel = r->parallel };
    int wrong = 0;

    s->start[0] = 0;
    while (*pair < r->pairs && b.rows < s->rows && wrong == 0) {
        const int64_t left = score_rows(r, &r->pair[*pair]) - *row;
        const int64_t n = attn_min(left, s->rows - b.rows);
        wrong = score_add(s, &b, *pair, *row, n);
        *row += n;
        if (n == left) {
            (*pair)++;
            *row = 0;
        }
    }
    if (wrong)
        return wrong;
    attn_cache_bind(&s->self, first, &b);
    if (score_encodes(r))
        attn_cache_bind(&s->cross, 0, &b);
    wrong = attn_enter(r->model, r->bound, &b, s->arena, 1);
    if (wrong == 0)
        score_give(s, &b, first);
    return wrong;
}

/* Scores all pairs, whose tokens go through the model together. The bits of a
 * pair do not depend on the others. Returns 0 or an error. */
ATTN_API int attn_score_pairs(const struct attn_score_request *r)
{
    const int64_t need = attn_score_bytes(r);
    struct attn_memory at;
    struct score s = { .r = r };
    int64_t pair = 0, row = 0;
    int wrong = 0;

    if (need < 0)
        return (int)need;
    if (!r->bound || !r->memory)
        return ATTN_ERROR_NULL;
    if (need > r->bytes)
        return ATTN_ERROR_ROOM;
    for (int64_t i = 0; i < r->pairs && wrong == 0; i++)
        wrong = attn_score_check(r, &r->pair[i]);
    if (wrong)
        return wrong;
    attn_memory_open(&at, r->memory);
    score_lay_out(&s, &at);
    if (score_encodes(r) && r->pairs > 0)
        wrong = score_sources(&s);
    while (wrong == 0 && pair < r->pairs)
        wrong = score_chunk(&s, &pair, &row);
    return wrong;
}

/* Completes a target. Appends the end token, if there is one; (*target)[] must
 * have space for it. Then skips the options' forced prefix if the target begins
 * with it. Returns the new number of tokens. */
ATTN_API int64_t attn_score_complete(const struct attn_search_options *o,
                                     int32_t **target, int64_t target_n)
{
    const int64_t n = o->prefix_n;
    int64_t same = 0;

    if (o->end >= 0) {
        (*target)[target_n] = o->end;
        target_n++;
    }
    while (same < attn_min(n, target_n) && (*target)[same] == o->prefix[same])
        same++;
    if (same < n)
        return target_n;
    *target += n;
    return target_n - n;
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

/* The search that the spec asks for. */
void tiny_options(struct attn_search_options *o)
{
    static const int32_t unwritten[] = { 1, 0 };

    if (!o)
        return;
    memset(o, 0, sizeof *o);
    o->beam = 2;
    o->results = 1;
    o->rule = 0;
    o->penalty = 1;
    o->alpha = 0x1.333334p-1f;
    o->max_output = 16;
    o->max_output_plus = 50;
    o->patience = 1.0f;
    o->start = 1;
    o->end = 2;
    o->process.forbid = unwritten;
    o->process.forbid_count = 2;
}

static const char *target_of(const void *bound)
{
    (void)bound;
    return "x86-64-v3";
}

static float sum_of_logits(const void *bound, const float *x,
                           int64_t n)
{
    (void)bound;
    return log_sum_exp(x, n);
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
        "attnc compile tiny.yaml --march\075x86-64-v3",
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
    .log_sum_exp = sum_of_logits,
    .target = target_of,
    .embedded = tiny_embedded,
    .options = tiny_options,
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

int64_t tiny_search_bytes(const struct attn_search_options *o,
                          int64_t sentences, int64_t source_rows,
                          int64_t longest)
{
    return attn_search_bytes(&model, o, sentences, source_rows, longest);
}

int tiny_search(const void *bound, const struct attn_search_options *o,
                int64_t sentences, const int32_t *ids, const int32_t *start,
                void *memory, int64_t bytes, struct attn_hypothesis *out,
                int64_t *found)
{
    const struct attn_search_request r = {
        .model = &model,
        .bound = bound,
        .o = o,
        .sentences = sentences,
        .ids = ids,
        .start = start,
        .memory = memory,
        .bytes = bytes,
    };
    return attn_search(&r, out, found);
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

int64_t tiny_stream_bytes(const struct attn_search_options *o,
                          int64_t source_rows, int64_t tokens, int64_t streams)
{
    return attn_stream_bytes(&model, o, source_rows, tokens, streams);
}

int tiny_stream_open(struct attn_stream *s, const void *bound,
                     const struct attn_search_options *o, const int32_t *ids,
                     int64_t n, int64_t tokens, int64_t streams, void *memory,
                     int64_t bytes)
{
    const struct attn_stream_request r = {
        .model = &model,
        .bound = bound,
        .o = o,
        .ids = ids,
        .n = n,
        .tokens = tokens,
        .streams = streams,
        .memory = memory,
        .bytes = bytes,
    };
    return attn_stream_open(s, &r);
}

int tiny_stream_feed(struct attn_stream *s, const int32_t *ids, int64_t n)
{
    return attn_stream_feed(s, ids, n);
}

int64_t tiny_stream_next(struct attn_stream *s)
{
    return attn_stream_next(s);
}

int tiny_stream_fork(struct attn_stream *to, struct attn_stream *from,
                     int64_t slot)
{
    return attn_stream_fork(to, from, slot);
}

uint64_t tiny_state_weights(const void *file)
{
    return attn_state_weights(&model, file);
}

int64_t tiny_state_bytes(const struct attn_stream *s)
{
    return attn_state_bytes(s);
}

int64_t tiny_state_save(const struct attn_stream *s, uint64_t weights,
                        void *out, int64_t cap)
{
    return attn_state_save(s, weights, out, cap);
}

const char *tiny_state_check(uint64_t weights, const void *state, int64_t bytes)
{
    return attn_state_check(&model, weights, state, bytes);
}

int tiny_state_restore(struct attn_stream *s, const void *bound,
                       const struct attn_search_options *o, uint64_t weights,
                       const void *state, int64_t bytes, int64_t tokens,
                       int64_t streams, void *memory, int64_t memory_bytes)
{
    const struct attn_restore_request r = {
        .model = &model,
        .bound = bound,
        .o = o,
        .weights = weights,
        .state = state,
        .bytes = bytes,
        .tokens = tokens,
        .streams = streams,
        .memory = memory,
        .memory_bytes = memory_bytes,
    };
    return attn_state_restore(s, &r);
}

/* ------------------------------------------------- a model that is open --- */

#define embedded_weights tiny_embedded
#define options_of_spec tiny_options

/* handle_file.c: opens the weights of a model. They are embedded in the C file,
 * or in a file that is mapped or, without mmap(), read. */

struct handle_file {
    const void *at; /* the weights; NULL: none */
    int64_t bytes;
    void *block; /* memory to unmap or free; NULL: embedded */
};

#if defined __unix__ || defined __APPLE__
/* Maps the file at the path. Returns NULL, or an error message. */
static const char *handle_map(struct handle_file *f, const char *path)
{
    const char *wrong = NULL;
    struct stat st;
    void *at = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return strerror(errno);
    if (fstat(fd, &st) != 0)
        wrong = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        wrong = "not a regular file";
    else if (st.st_size < 1)
        wrong = "the file is empty";
    if (!wrong)
        at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        wrong = strerror(errno);
    close(fd);
    if (wrong)
        return wrong;
    f->block = at;
    f->at = at;
    f->bytes = (int64_t)st.st_size;
    return NULL;
}

static void handle_unmap(struct handle_file *f)
{
    if (f->block)
        munmap(f->block, (size_t)f->bytes);
}
#else
static const char *handle_read(struct handle_file *f, FILE *from, long bytes)
{
    struct attn_memory at;
    void *to;

    f->block = malloc((size_t)bytes + ATTN_ALIGN);
    if (!f->block)
        return "out of memory";
    attn_memory_open(&at, f->block);
    to = attn_take(&at, bytes, 1);
    f->at = to;
    f->bytes = bytes;
    if (fread(to, 1, (size_t)bytes, from) < (size_t)bytes)
        return "it could not be read";
    return NULL;
}

static const char *handle_map(struct handle_file *f, const char *path)
{
    FILE *from = fopen(path, "rb");
    const char *wrong = "it could not be read";
    long bytes = -1;

    if (!from)
        return strerror(errno);
    if (fseek(from, 0, SEEK_END) == 0)
        bytes = ftell(from);
    if (bytes == 0)
        wrong = "the file is empty";
    if (bytes > 0 && fseek(from, 0, SEEK_SET) == 0)
        wrong = handle_read(f, from, bytes);
    fclose(from);
    return wrong;
}

static void handle_unmap(struct handle_file *f)
{
    free(f->block);
}
#endif

/* handle.c: an open model. It allocates two blocks: one for the handle and its
 * work memory, one for the ids and scores of a text. Weights are mapped. The
 * functions check their arguments, and store an error message in the handle. An
 * emitted file has handle_file.c before this file, and after it
 * handle_generate.c or, if the model does not generate, handle_rows.c. */

enum {
    HANDLE_PIECE = 4096, /* maximum bytes of a token's text, including bytes
                          * held back */
    HANDLE_TOKEN = 16,   /* default bytes of text per token */
    HANDLE_THREADS = 256
};

struct attn_handle {
    const struct attn_model *model;
    void *memory;               /* the block that contains this struct */
    int failed;                 /* error of attn_open(), which all calls then
                                 * return, with the message `why` */
    char why[ATTN_PACKED_TEXT]; /* error message of the last call, or "" */
    struct handle_file file;
    void *bound;
    const struct attn_parallel *parallel; /* threads for calls; NULL: one */
    struct attn_parallel threads;         /* used if the model starts threads;
                                           * contains their number */
    void *pool;                           /* thread pool, or NULL */
    int64_t input, output;                /* maximum lengths of input and
                                           * output, in tokens or rows */
    int64_t beam, text; /* maximum hypotheses, and bytes of a text */
    int64_t draft;      /* the draft of answers that grow */
    void *tokens;       /* block for ids and scores; its size depends on the
                         * vocabularies */
    int64_t most;       /* maximum ids per text */
    int32_t *ids, *target_ids; /* target_ids are token types in a model that
                                * only encodes */
    float *scores;             /* scores of a target's tokens */
    void *work; /* memory of a call */
    int64_t work_bytes;
    struct attn_drafter drafter; /* for ATTN_DRAFT_MODEL */
    struct attn_queue_size queue_size;
    struct handle_queue *queue; /* NULL: the handle takes no requests */
};

/* Returns the bytes of memory that the largest call within the limits needs. */
static int64_t handle_call_bytes(const struct attn_handle *h);
/* Sets the limits from the options or their defaults. Returns 0 or an error. */
static int handle_sizes(struct attn_handle *h,
                        const struct attn_open_options *o);
static int handle_lay_out_queue(struct attn_handle *h, struct attn_memory *at);
/* Opens a grammar in memory taken from `at`, whose size it counts if `at` has
 * no base; NULL: there is none. Returns 0 or an error. */
static int handle_open_grammar(struct attn_handle *h, const char *text,
                               struct attn_memory *at);

/* ---- errors ---- */

/* Sets the message. Returns `error`. */
static int handle_fail(struct attn_handle *h, int64_t error, const char *fmt,
                       ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(h->why, sizeof h->why, fmt, ap);
    va_end(ap);
    return (int)error;
}

/* Like handle_fail(), with the message for an error that the core returned. */
static int handle_refuse(struct attn_handle *h, int64_t error)
{
    return handle_fail(h, error, "%s", attn_error_text(error));
}

/* Begins a call: clears the message. Returns 0 or an error. */
static int handle_begin(const struct attn_model *m, struct attn_handle *h)
{
    if (!h)
        return ATTN_ERROR_NULL;
    if (h->failed)
        return ATTN_ERROR_OPEN;
    h->why[0] = '\0';
    if (h->model == m)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPEN,
                       "this is a function of %s, %s is open", m->name,
                       h->model->name);
}

static int handle_longer(struct attn_handle *h, const char *what, int64_t n,
                         int64_t most)
{
    return handle_fail(h, ATTN_ERROR_LENGTH,
                       "%s: %lld, at most %lld are taken: the model's max_len, "
                       "or max_input, max_output of the options at open",
                       what, (long long)n, (long long)most);
}

ATTN_API const char *attn_error(const struct attn_handle *h)
{
    return h ? h->why : "out of memory";
}

ATTN_API const char *attn_target(const struct attn_handle *h)
{
    return h && !h->failed ? h->model->target(h->bound) : NULL;
}

/* ---- memory ---- */

static int64_t handle_text(const struct attn_handle *h)
{
    return HANDLE_TOKEN * attn_max(h->input, h->output) + HANDLE_TOKEN;
}

/* Runs all parts in sequence on the calling thread. */
static void handle_run(void *pool, int64_t parts,
                       void (*part)(void *arg, int64_t part, int64_t parts),
                       void *arg)
{
    (void)pool;
    for (int64_t i = 0; i < parts; i++)
        part(arg, i, parts);
}

/* Sets the handle's model, threads and size limits from the options. Returns 0,
 * or an error if an option is out of range. */
static int handle_take_sizes(struct attn_handle *h, const struct attn_model *m,
                             const struct attn_open_options *o)
{
    static const struct attn_open_options none = { 0 };
    const struct attn_open_options *to = o ? o : &none;

    h->model = m;
    h->why[0] = '\0';
    h->parallel = to->parallel;
    if (to->threads < 0 || to->threads > HANDLE_THREADS)
        return handle_fail(h, ATTN_ERROR_OPTION, "threads: 0 to %d are taken",
                           HANDLE_THREADS);
    if (!h->parallel && to->threads > 1) { /* the memory for calls depends on
                                            * `parts` */
        h->threads.parts = to->threads;
        h->threads.run = handle_run;
        h->parallel = &h->threads;
    }
    const int apart = attn_check_parallel(m, to->parallel);
    if (apart == ATTN_ERROR_RANKS)
        return handle_fail(h, apart, "parallel: %s", attn_error_text(apart));
    if (apart != 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "parallel: parts below 0, or no function");
    const int wrong = handle_sizes(h, to);
    if (wrong)
        return wrong;
    h->text = to->max_text > 0 ? to->max_text : handle_text(h);
    if (to->max_text < 0 || h->text > ATTN_MOST)
        return handle_fail(h, ATTN_ERROR_OPTION, "max_text: 0 to %d are taken",
                           ATTN_MOST);
    return 0;
}

/* Sets *size to the given option or, if that is 0, to `most`. */
static int handle_size(struct attn_handle *h, const char *name, int64_t given,
                       int64_t most, int64_t *size)
{
    *size = given > 0 ? given : most;
    if (given >= 0 && given <= most)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION, "%s: 0 to %lld are taken", name,
                       (long long)most);
}

/* Returns 0 or an error. */
static int handle_lay_out(struct attn_handle *h, struct attn_memory *at)
{
    h->bound = attn_take(at, h->model->bound_bytes, 1);
    h->work_bytes = handle_call_bytes(h);
    h->work = attn_take(at, h->work_bytes, 1);
    int wrong = handle_lay_out_queue(h, at);
    return wrong;
}

ATTN_API int64_t attn_memory(const struct attn_model *m,
                             const struct attn_open_options *o)
{
    struct attn_memory at = { NULL, 0 };
    struct attn_handle h = { .model = m };
    int wrong = handle_take_sizes(&h, m, o);

    if (wrong)
        return wrong;
    attn_take(&at, 1, sizeof h);
    wrong = handle_lay_out(&h, &at);
    if (wrong)
        return wrong;
    return at.used < 0 ? ATTN_ERROR_COUNT : attn_memory_bytes(&at);
}

/* ---- open ---- */

/* Opens weights and vocabularies; if `path` is NULL, the weights are those
 * inside the C file. Returns 0 or an error. */
static int handle_weights(struct attn_handle *h, const char *path,
                          int64_t unchecked)
{
    const struct attn_model *m = h->model;
    const char *wrong = NULL;
    const char *name = path ? path : m->name;

    if (path)
        wrong = handle_map(&h->file, path);
    else
        h->file.at = embedded_weights(&h->file.bytes);
    if (!wrong && !h->file.at && m->weights_bytes > 0)
        wrong = "no weights are inside of this file: open() takes the path of "
                "a weights file";
    if (!wrong && unchecked)
        wrong = attn_bind_lazily(m, h->bound, h->file.at, h->file.bytes);
    else if (!wrong)
        wrong = attn_bind(m, h->bound, h->file.at, h->file.bytes);
    if (wrong)
        return handle_fail(h, ATTN_ERROR_OPEN, "%s: %s", name, wrong);
    return 0;
}

/* Allocates the memory for the tokens of a text, and a grammar for them.
 * Returns 0 or an error. */
static int handle_open_tokens(struct attn_handle *h, const char *grammar)
{
    struct attn_memory at;
    int wrong = 0;

    h->most = attn_max(h->input, h->output);
    attn_memory_open(&at, NULL);
    for (int laid = 0; laid < 2; laid++) {
        h->ids = attn_take(&at, h->most + 1, sizeof *h->ids);
        h->target_ids = attn_take(&at, h->most + 1, sizeof *h->target_ids);
        h->scores = attn_take(&at, h->most + 1, sizeof *h->scores);
        wrong = handle_open_grammar(h, grammar, &at);
        if (wrong || laid == 1)
            return wrong;
        h->tokens = malloc((size_t)attn_memory_bytes(&at));
        if (!h->tokens)
            return handle_fail(h, ATTN_ERROR_OPEN,
                               "out of memory for the tokens of a text");
        attn_memory_open(&at, h->tokens);
    }
    return 0;
}

static int handle_threads(struct attn_handle *h, int64_t threads)
{
    if (h->parallel != &h->threads)
        return 0;
#if defined ATTNC_MAIN || defined ATTNC_THREADS
    h->pool = attn_pool_open(threads);
    if (!h->pool)
        return handle_fail(h, ATTN_ERROR_OPEN, "out of memory for %lld threads",
                           (long long)threads);
    h->parallel = attn_pool_parallel(h->pool);
    return 0;
#else
    return handle_fail(
        h, ATTN_ERROR_OPEN,
        "%lld threads: compile the C file of %s with -DATTNC_THREADS "
        "-pthread",
        (long long)threads, h->model->name);
#endif
}

ATTN_API struct attn_handle *attn_open(const struct attn_model *m,
                                       const char *path,
                                       const struct attn_open_options *o)
{
    const int64_t bytes = attn_memory(m, o);
    const size_t least = sizeof(struct attn_handle) + ATTN_ALIGN;
    void *memory = malloc(bytes > 0 ? (size_t)bytes : least);
    struct attn_memory at;
    struct attn_handle *h;

    if (!memory)
        return NULL;
    attn_memory_open(&at, memory);
    h = attn_take(&at, 1, sizeof *h);
    memset(h, 0, sizeof *h);
    h->memory = memory;
    h->failed = handle_take_sizes(h, m, o);
    if (!h->failed && bytes < 0)
        h->failed = handle_refuse(h, bytes);
    if (h->failed)
        return h;
    handle_lay_out(h, &at);
    h->failed = handle_weights(h, path, o ? o->unchecked : 0);
    if (!h->failed && h->model->kind != ATTN_ATTENTION)
        h->failed = handle_open_tokens(h, o ? o->grammar : NULL);
    if (!h->failed)
        h->failed = handle_threads(h, o ? o->threads : 0);
    return h;
}

ATTN_API void attn_close(struct attn_handle *h)
{
    if (!h)
        return;
#if defined ATTNC_MAIN || defined ATTNC_THREADS
    attn_pool_close(h->pool);
#endif
    handle_unmap(&h->file);
    free(h->tokens);
    free(h->memory);
}

/* handle_generate.c: functions of a handle for a model that generates. */

static int handle_queue_sizes(struct attn_handle *h,
                              const struct attn_open_options *o);

/* Sets the draft. Returns 0 or an error. */
static int handle_draft(struct attn_handle *h, int64_t draft,
                        const struct attn_drafter *by)
{
    const char *wrong = attn_draft_wrong(h->model);

    h->draft = draft;
    if (draft < ATTN_DRAFT_NONE || draft > ATTN_DRAFT_MODEL)
        return handle_fail(h, ATTN_ERROR_OPTION, "draft: 0 to %d are taken",
                           ATTN_DRAFT_MODEL);
    if (draft && wrong)
        return handle_fail(h, ATTN_ERROR_OPTION, "draft: %s", wrong);
    if (draft != ATTN_DRAFT_MODEL)
        return 0;
    if (!by || !by->model || !by->bound)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "drafter: it, or a pointer in it, is NULL");
    h->drafter = *by;
    wrong = attn_drafter_wrong(h->model, by);
    return wrong ? handle_fail(h, ATTN_ERROR_OPTION, "drafter: %s", wrong) : 0;
}

ATTN_API int attn_drafter(const struct attn_model *m, struct attn_handle *h,
                          struct attn_drafter *to)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!to)
        return handle_refuse(h, ATTN_ERROR_NULL);
    to->model = m;
    to->bound = h->bound;
    return 0;
}

/* Sets the maximum tokens of the conversation. Returns 0 or an error. */
static int handle_chat_size(struct attn_handle *h, int64_t chat)
{
    if (chat == 0)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION,
                       "chat: the spec has no `chat`, the texts around the "
                       "turns of a conversation, or no vocabulary");
}

static int handle_sizes(struct attn_handle *h,
                        const struct attn_open_options *o)
{
    const struct attn_model *m = h->model;
    struct attn_search_options spec;
    int64_t most = m->max_source;
    int wrong;

    if (m->kind == ATTN_DECODER)
        most = m->max_target;
    wrong = handle_size(h, "max_input", o->max_input, most, &h->input);
    if (wrong == 0)
        wrong = handle_size(h, "max_output", o->max_output, m->max_target,
                            &h->output);
    if (wrong == 0)
        wrong = handle_size(h, "beam", o->beam, INT16_MAX, &h->beam);
    if (wrong == 0)
        wrong = handle_draft(h, o->draft, o->drafter);
    if (wrong == 0)
        wrong = handle_chat_size(h, o->chat);
    options_of_spec(&spec);
    if (o->beam == 0)
        h->beam = spec.beam;
    return wrong ? wrong : handle_queue_sizes(h, o);
}

static int handle_open_grammar(struct attn_handle *h, const char *text,
                               struct attn_memory *at)
{
    (void)at;
    if (!text)
        return 0;
    return handle_fail(h, ATTN_ERROR_OPTION,
                       "grammar: %s has no vocabulary: a grammar is about the "
                       "text of tokens",
                       h->model->name);
}

/* Returns the search options, within the limits of the handle. `asked` NULL:
 * the spec's options. */
static struct attn_search_options
handle_choice(const struct attn_handle *h,
              const struct attn_search_options *asked)
{
    struct attn_search_options o;

    options_of_spec(&o);
    if (asked)
        o = *asked;
    o.results = 1;
    o.draft = h->draft;
    o.drafter = &h->drafter;
    if (o.max_output == 0 || o.max_output > h->output)
        o.max_output = h->output;
    if (!o.parallel)
        o.parallel = h->parallel;
    return o;
}

/* Returns the maximum tokens of a stream whose source, or a decoder's prompt,
 * has n tokens. */
static int64_t handle_stream_tokens(const struct attn_handle *h,
                                    const struct attn_search_options *o,
                                    int64_t n)
{
    const int64_t lead = attn_search_lead(h->model, o, n);
    const int64_t room = lead + attn_search_limit(h->model, o, n, lead);

    return attn_max(attn_min(room, h->model->max_target + 1), 1);
}

/* Returns the bytes that a stream needs. A decoder's stream has no source. */
static int64_t handle_stream_size(const struct attn_handle *h,
                                  const struct attn_search_options *o,
                                  int64_t n)
{
    const int64_t tokens = handle_stream_tokens(h, o, n);

    if (h->model->kind == ATTN_DECODER)
        n = 0;
    return attn_stream_bytes(h->model, o, n, tokens, 1);
}

/* Returns the request of one pair. */
static struct attn_score_request
handle_score(const struct attn_handle *h, const struct attn_search_options *o,
             const struct attn_score_pair *pair)
{
    return (struct attn_score_request){
        .model = h->model,
        .bound = h->bound,
        .start = o->start,
        .prefix = o->prefix,
        .prefix_n = o->prefix_n,
        .pair = pair,
        .pairs = 1,
        .parallel = h->parallel,
        .memory = h->work,
        .bytes = h->work_bytes,
        .log_probability = h->scores,
    };
}

static int64_t handle_call_bytes(const struct attn_handle *h)
{
    const struct attn_model *m = h->model;
    struct attn_search_options o = handle_choice(h, NULL);
    int64_t bytes = 0;

    if (m->input_width > 0) /* no function takes rows of numbers */
        return 0;
    o.max_output = h->output;
    o.max_output_plus = -1;
    o.beam = h->beam;
    bytes = attn_search_bytes(m, &o, 1, h->input, h->input);
    o.beam = 1;
    o.sampling.temperature = 1.0f;
    bytes = attn_max(bytes, attn_search_bytes(m, &o, 1, h->input, h->input));
    bytes = attn_max(bytes, handle_stream_size(h, &o, h->input));
    const struct attn_score_pair pair = {
        .source_n = h->input,
        .target_n = attn_min(h->output + 1, m->max_target),
    };
    const struct attn_score_request r = handle_score(h, &o, &pair);
    return attn_max(bytes, attn_score_bytes(&r));
}

/* ---- search ---- */

/* Checks that handle and model have room for an answer to n tokens. Returns 1,
 * 0 if there is nothing to answer, or an error. Reduces *n to o->max_input if
 * it is larger. */
static int handle_asks(struct attn_handle *h,
                       const struct attn_search_options *o, int64_t *n)
{
    const struct attn_model *m = h->model;
    int64_t lead;

    if (*n < 0)
        return handle_refuse(h, ATTN_ERROR_COUNT);
    if (o->max_input > 0)
        *n = attn_min(*n, o->max_input);
    if (*n > h->input)
        return handle_longer(h, "tokens of the input", *n, h->input);
    lead = attn_search_lead(m, o, *n);
    if (lead > m->max_target)
        return handle_longer(h, "tokens of the input", *n,
                             m->max_target - (lead - *n));
    if (!attn_search_asks(m, o, *n))
        return 0;
    if (attn_search_limit(m, o, *n, lead) < 1)
        return handle_fail(h, ATTN_ERROR_LENGTH,
                           "no room is left for an answer to %lld tokens",
                           (long long)*n);
    return 1;
}

/* Checks that a call needs no more memory than the handle has. Returns 0 or an
 * error. */
static int handle_room(struct attn_handle *h, int64_t need)
{
    if (need < 0)
        return handle_refuse(h, need);
    if (need <= h->work_bytes)
        return 0;
    return handle_fail(h, ATTN_ERROR_ROOM,
                       "this search is larger than the handle was opened for: "
                       "beam, max_input, max_output or threads of its options");
}

/* Finds the best answer. Returns 1, 0 if there is no answer, or an error. */
static int handle_best(struct attn_handle *h, const int32_t *ids, int64_t n,
                       const struct attn_search_options *asked,
                       struct attn_hypothesis *best)
{
    const struct attn_search_options o = handle_choice(h, asked);
    const int asks = handle_asks(h, &o, &n);
    const int32_t start[2] = { 0, (int32_t)n };
    int64_t found = 0;
    int wrong;

    if (asks < 1)
        return asks;
    if (h->model->input_width > 0) /* the source is not tokens */
        return handle_refuse(h, ATTN_ERROR_KIND);
    wrong = handle_room(h, attn_search_bytes(h->model, &o, 1, n, n));
    if (wrong)
        return wrong;
    const struct attn_search_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = &o,
        .sentences = 1,
        .ids = ids,
        .start = start,
        .memory = h->work,
        .bytes = h->work_bytes,
    };
    wrong = attn_search(&r, best, &found);
    if (wrong == 0 && found < 0)
        wrong = (int)found;
    if (wrong)
        return handle_refuse(h, wrong);
    return found > 0;
}

/* ---- translate ---- */

ATTN_API int64_t attn_translate_ids(const struct attn_model *m,
                                    struct attn_handle *h, const int32_t *ids,
                                    int64_t n,
                                    const struct attn_search_options *o,
                                    int32_t *out, int64_t cap)
{
    struct attn_hypothesis best;
    int found = handle_begin(m, h);

    if (found)
        return found;
    if (cap < 0 || (cap > 0 && !out))
        return handle_refuse(h, cap < 0 ? ATTN_ERROR_COUNT : ATTN_ERROR_NULL);
    found = handle_best(h, ids, n, o, &best);
    if (found < 1)
        return found;
    if (cap > 0)
        memcpy(out, best.tokens, (size_t)attn_min(best.n, cap) * sizeof *out);
    return best.n;
}

/* ---- generate ---- */

struct handle_answer { /* an answer passed to a callback as it grows */
    attn_take_id *take_id;
    void *user;
    int64_t n;   /* number of tokens so far */
    int stopped; /* the callback has returned a value other than 0 */
};

/* Passes a token to the callback. Returns 0 or an error. */
static int handle_give(struct attn_handle *h, struct handle_answer *a,
                       int32_t id)
{
    (void)h;
    a->n++;
    a->stopped = a->take_id(a->user, id) != 0;
    return 0;
}

/* Passes at most `most` tokens to the callback as they are chosen. Returns 0 or
 * an error. */
static int handle_follow(struct attn_handle *h, struct attn_stream *s,
                         int64_t most, struct handle_answer *a)
{
    int64_t token = 0;
    int wrong = 0;

    while (wrong == 0 && !a->stopped && a->n < most) {
        token = attn_stream_next(s);
        if (token < 0)
            break;
        wrong = handle_give(h, a, (int32_t)token);
    }
    if (wrong == 0 && token < ATTN_STREAM_FULL)
        wrong = handle_refuse(h, token);
    return wrong;
}

/* Answers one token after the other. Returns 0 or an error. */
static int handle_stream(struct attn_handle *h, const int32_t *ids, int64_t n,
                         const struct attn_search_options *o,
                         struct handle_answer *a)
{
    const struct attn_stream_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = o,
        .ids = ids,
        .n = n,
        .tokens = handle_stream_tokens(h, o, n),
        .streams = 1,
        .memory = h->work,
        .bytes = h->work_bytes,
    };
    struct attn_stream s;
    int wrong = handle_room(h, handle_stream_size(h, o, n));

    if (wrong)
        return wrong;
    wrong = attn_stream_open(&s, &r);
    return wrong ? handle_refuse(h, wrong) : handle_follow(h, &s, INT64_MAX, a);
}

/* Answers, and passes the tokens to the callback. With several hypotheses, no
 * token is certain before the search ends. Returns 0 or an error. */
static int handle_answers(struct attn_handle *h, const int32_t *ids, int64_t n,
                          const struct attn_search_options *asked,
                          struct handle_answer *a)
{
    const struct attn_search_options o = handle_choice(h, asked);
    struct attn_hypothesis best;
    int wrong = 0, asks;

    if (o.beam != 1) {
        asks = handle_best(h, ids, n, asked, &best);
        for (int64_t i = 0; asks > 0 && i < best.n; i++) {
            wrong = handle_give(h, a, best.tokens[i]);
            if (wrong || a->stopped)
                break;
        }
        return asks < 0 ? asks : wrong;
    }
    asks = handle_asks(h, &o, &n);
    if (asks < 1)
        return asks;
    return handle_stream(h, ids, n, &o, a);
}

ATTN_API int64_t attn_generate_ids(const struct attn_model *m,
                                   struct attn_handle *h, const int32_t *ids,
                                   int64_t n,
                                   const struct attn_search_options *o,
                                   attn_take_id *take, void *user)
{
    struct handle_answer a = { .take_id = take, .user = user };
    int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!take)
        return handle_fail(h, ATTN_ERROR_NULL,
                           "there is no function to take the ids");
    wrong = handle_answers(h, ids, n, o, &a);
    return wrong ? wrong : a.n;
}

/* handle_score.c: scores of given targets by a handle. */

/* Computes the log-probability of a target and of each of its tokens. `target`
 * must have room for the end token. Returns 0 or an error. */
static int handle_probability(struct attn_handle *h, const int32_t *source,
                              int64_t n, int32_t *target, int64_t target_n,
                              double *log_probability)
{
    const struct attn_model *m = h->model;
    struct attn_search_options o;
    const int64_t most = attn_min(h->output + 1, m->max_target);
    int wrong;

    options_of_spec(&o);
    target_n = attn_score_complete(&o, &target, target_n);
    if (n > h->input)
        return handle_longer(h, "tokens of the source", n, h->input);
    if (target_n < 1 || target_n > most)
        return handle_longer(h, "tokens of the target, the end counted",
                             target_n, most);
    const struct attn_score_pair pair = {
        .source = source, .source_n = n, .target = target, .target_n = target_n
    };
    const struct attn_score_request r = handle_score(h, &o, &pair);
    wrong = attn_score_pairs(&r);
    if (wrong)
        return handle_refuse(h, wrong);
    *log_probability = 0.0;
    for (int64_t i = 0; i < target_n; i++)
        *log_probability += (double)h->scores[i];
    if (isnan(*log_probability))
        return handle_refuse(h, ATTN_ERROR_FINITE);
    return 0;
}

ATTN_API int attn_score_ids(const struct attn_model *m, struct attn_handle *h,
                            const int32_t *source, int64_t n,
                            const int32_t *target, int64_t target_n,
                            double *log_probability)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (!log_probability || (target_n > 0 && !target))
        return handle_refuse(h, ATTN_ERROR_NULL);
    if (n < 0 || target_n < 0)
        return handle_refuse(h, ATTN_ERROR_COUNT);
    if (target_n > h->output)
        return handle_longer(h, "tokens of the target", target_n, h->output);
    memcpy(h->target_ids, target, (size_t)target_n * sizeof *target);
    return handle_probability(h, source, n, h->target_ids, target_n,
                              log_probability);
}

/* handle_queue.c: requests that a handle answers together, by a queue
 * (runtime/search/queue.h). Its memory is that of open(), so other calls do not
 * disturb it. */

#ifdef ATTN_ATOMICS
#define HANDLE_SHARED _Atomic /* another thread may cancel a request */
#else
#define HANDLE_SHARED
#endif

struct handle_asked {         /* what a place of the queue is asked */
    HANDLE_SHARED int64_t id; /* number of the request; below 0: it is
                               * cancelled; 0: the place is free, or its caller
                               * knows the whole answer */
    int64_t told;             /* tokens of the answer that the caller knows */
    int64_t ended;            /* 1: the answer has left the queue */
};

/* Changes a number of a request if it is still `from`. Returns 1 if so. */
static int handle_turn(struct handle_asked *a, int64_t from, int64_t to)
{
#ifdef ATTN_ATOMICS
    return atomic_compare_exchange_strong(&a->id, &from, to);
#else
    if (a->id != from)
        return 0;
    a->id = to;
    return 1;
#endif
}

struct handle_queue {
    struct attn_queue q;
    struct attn_search_options o; /* of the queue */
    int64_t requests;             /* number of requests so far */
    int opened;
    struct handle_asked *asked; /* [places] */
    void *memory;
    int64_t bytes;
};

/* ---- memory ---- */

/* Sets the sizes of the queue from the options of open(). Returns 0 or an
 * error. */
static int handle_queue_sizes(struct attn_handle *h,
                              const struct attn_open_options *o)
{
    const int64_t page = attn_cache_page_bytes(h->model, ATTN_SELF);
    struct attn_queue_size *n = &h->queue_size;
    int64_t seats = INT16_MAX, most = 0;

    int wrong = handle_size(h, "batch", o->batch, seats, &most);

    if (wrong == 0)
        wrong = handle_size(h, "waiting", o->waiting, INT16_MAX, &most);
    if (wrong == 0)
        wrong = handle_size(h, "prompt_rows", o->prompt_rows, ATTN_MOST, &most);
    if (wrong)
        return wrong;
    if (o->waiting > 0 && o->batch == 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "waiting: with a batch of 0 no requests are held");
    if (o->cache < 0 || (o->cache > 0 && o->cache < page))
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "cache: 0, or at least the %lld bytes of a page",
                           (long long)page);
    if (o->prefix_cache < 0)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "prefix_cache: a number of bytes is below 0");
    n->seats = o->batch;
    n->places = o->batch > 0 ? o->batch + o->waiting : 0;
    n->call = o->prompt_rows;
    n->pages = attn_min(o->cache / attn_max(page, 1), INT32_MAX);
    n->prefix_pages = attn_min(o->prefix_cache / attn_max(page, 1), INT32_MAX);
    n->longest = h->input;
    n->draws = 1;
    return 0;
}

/* Lays out the queue. Returns 0 or an error. */
static int handle_lay_out_queue(struct attn_handle *h, struct attn_memory *at)
{
    struct handle_queue *w;

    if (h->queue_size.seats == 0 || h->model->input_width > 0)
        return 0;
    struct attn_search_options o = handle_choice(h, NULL);
    o.beam = h->beam;
    o.max_output = h->output;
    o.max_output_plus = -1;
    if (o.beam > 1)
        o.sampling.temperature = 0.0f;
    const int64_t bytes = attn_queue_bytes(h->model, &o, &h->queue_size);
    if (bytes < 0)
        return handle_fail(h, bytes, "batch, waiting, beam: %s",
                           attn_error_text(bytes));
    w = attn_take(at, 1, sizeof *w);
    struct handle_asked *asked = attn_take(at, h->queue_size.places,
                                           sizeof *asked);
    void *memory = attn_take(at, bytes, 1);
    if (!w) /* only the size is wanted */
        return 0;
    memset(w, 0, sizeof *w);
    w->o = o;
    w->asked = asked;
    w->memory = memory;
    w->bytes = bytes;
    h->queue = w;
    return 0;
}

/* ---- requests ---- */

/* Empties the queue. Returns 0 or an error. */
static int handle_open_queue(struct attn_handle *h)
{
    struct handle_queue *w = h->queue;
    const struct attn_queue_request r = {
        .model = h->model,
        .bound = h->bound,
        .o = &w->o,
        .size = h->queue_size,
        .memory = w->memory,
        .bytes = w->bytes,
    };

    w->o.parallel = h->parallel;
    for (int64_t i = 0; i < h->queue_size.places; i++) {
        w->asked[i].id = 0;
        w->asked[i].ended = 0;
    }
    w->opened = 1;
    return attn_queue_open(&w->q, &r);
}

/* Frees the places of the answers that the caller knows. */
static void handle_free_told(struct handle_queue *w)
{
    for (int64_t i = 0; i < w->q.size.places; i++) {
        if (!w->asked[i].ended)
            continue;
        w->asked[i].ended = 0;
        attn_queue_free(&w->q, i);
    }
}

/* Begins a call that needs the queue. Returns 0 or an error. */
static int handle_begin_queued(const struct attn_model *m,
                               struct attn_handle *h)
{
    const int wrong = handle_begin(m, h);

    if (wrong)
        return wrong;
    if (h->model->input_width > 0) /* the source is not tokens */
        return handle_refuse(h, ATTN_ERROR_KIND);
    if (!h->queue)
        return handle_fail(h, ATTN_ERROR_OPTION,
                           "the handle takes no requests: batch of the options "
                           "at open");
    if (!h->queue->opened)
        return handle_open_queue(h);
    handle_free_told(h->queue);
    return 0;
}

/* Says why the queue does not take a request of n tokens. Returns the error. */
static int64_t handle_not_taken(struct attn_handle *h, int64_t n, int64_t error)
{
    if (error != ATTN_ERROR_ROOM)
        return handle_refuse(h, error);
    if (!attn_queue_takes(&h->queue->q, n))
        return handle_fail(h, error,
                           "no more requests are held, or no more new ones: "
                           "work on them, or raise batch and waiting of the "
                           "options at open");
    return handle_fail(h, error,
                       "this search is larger than the handle was opened for: "
                       "beam, max_output or cache of its options, or, with a "
                       "beam, more end tokens than the spec's");
}

/* Adds a request. Returns its number, or an error. */
static int64_t handle_request(struct attn_handle *h, const int32_t *ids,
                              int64_t n,
                              const struct attn_search_options *asked)
{
    struct handle_queue *w = h->queue;
    const struct attn_search_options o = handle_choice(h, asked);
    const int asks = handle_asks(h, &o, &n);

    if (asks < 0)
        return asks;
    if (n > 0 && !ids)
        return handle_refuse(h, ATTN_ERROR_NULL);
    const int bad = attn_check_ids(ids, n,
                                   h->model->kind == ATTN_DECODER
                                       ? h->model->target_vocab
                                       : h->model->source_vocab);
    if (bad)
        return handle_refuse(h, bad);
    const struct attn_queue_source s = { .ids = ids, .rows = n, .o = &o };
    const int64_t place = attn_queue_add(&w->q, &s);
    if (place < 0)
        return handle_not_taken(h, n, place);
    w->requests++;
    const int64_t id = w->requests * w->q.size.places + place;
    w->asked[place].told = 0;
    w->asked[place].id = id;
    return id;
}

ATTN_API int64_t attn_submit_ids(const struct attn_model *m,
                                 struct attn_handle *h, const int32_t *ids,
                                 int64_t n, const struct attn_search_options *o)
{
    const int wrong = handle_begin_queued(m, h);

    return wrong ? wrong : handle_request(h, ids, n, o);
}

ATTN_API int attn_cancel(const struct attn_model *m, struct attn_handle *h,
                         int64_t id)
{
    if (!h)
        return ATTN_ERROR_NULL;
    if (h->failed || h->model != m || !h->queue || !h->queue->opened || id < 1)
        return ATTN_ERROR_OPEN;
    struct handle_asked *a = &h->queue->asked[id % h->queue_size.places];
    return handle_turn(a, id, -id) ? 0 : ATTN_ERROR_OPEN;
}

/* ---- answers ---- */

static void handle_drop_cancelled(struct handle_queue *w)
{
    for (int64_t i = 0; i < w->q.size.places; i++)
        if (w->asked[i].id < 0)
            attn_queue_drop(&w->q, i);
}

/* Stores the answers that have ended. Returns their number. */
static int64_t handle_ended(struct handle_queue *w, struct attn_event *events,
                            int64_t cap)
{
    int64_t n = 0;

    while (n < cap) {
        const int64_t place = attn_queue_take(&w->q);
        if (place < 0)
            break;
        struct handle_asked *a = &w->asked[place];
        const struct attn_beam *b = &w->q.place[place].beam;
        const int64_t id = a->id;
        a->ended = 1;
        if (id < 0 || !handle_turn(a, id, 0)) {
            a->id = 0;
            continue;
        }
        events[n].id = id;
        events[n].ended = 1;
        events[n].tokens = b->best[0].tokens;
        events[n].n = b->found > 0 ? b->best[0].n : b->found;
        n++;
    }
    return n;
}

/* Stores the answers that have grown and of which every token is certain.
 * Returns their number. */
static int64_t handle_grown(struct handle_queue *w, struct attn_event *events,
                            int64_t cap)
{
    int64_t n = 0;

    for (int64_t i = 0; i < w->q.seated.n && n < cap; i++) {
        const struct attn_place *p = attn_queue_seat(&w->q, i);
        struct handle_asked *a = &w->asked[w->q.seated.at[i]];
        const int64_t id = a->id;
        if (id < 0 || p->o.beam > 1 || p->beam.length <= a->told)
            continue;
        a->told = p->beam.length;
        events[n].id = id;
        events[n].ended = 0;
        events[n].tokens = p->beam.tokens;
        events[n].n = a->told;
        n++;
    }
    return n;
}

ATTN_API int64_t attn_work(const struct attn_model *m, struct attn_handle *h,
                           struct attn_event *events, int64_t cap)
{
    int wrong = handle_begin_queued(m, h);
    int64_t n = 0;

    if (wrong)
        return wrong;
    if (!events || cap < 1)
        return handle_refuse(h, events ? ATTN_ERROR_COUNT : ATTN_ERROR_NULL);
    struct handle_queue *w = h->queue;
    for (;;) {
        handle_drop_cancelled(w);
        n = handle_ended(w, events, cap);
        n += handle_grown(w, events + n, cap - n);
        if (n > 0 || !attn_queue_busy(&w->q))
            return n;
        wrong = attn_queue_round(&w->q);
        if (wrong) {
            handle_open_queue(h);
            return handle_refuse(h, wrong);
        }
    }
}

struct attn_handle *tiny_open(const char *path,
                              const struct attn_open_options *o)
{
    return attn_open(&model, path, o);
}

int64_t tiny_memory(const struct attn_open_options *o)
{
    return attn_memory(&model, o);
}

const char *tiny_error(const struct attn_handle *h)
{
    return attn_error(h);
}

const char *tiny_target(const struct attn_handle *h)
{
    return attn_target(h);
}

void tiny_close(struct attn_handle *h)
{
    attn_close(h);
}

int64_t tiny_translate_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                           const struct attn_search_options *o, int32_t *out,
                           int64_t cap)
{
    return attn_translate_ids(&model, h, ids, n, o, out, cap);
}

int64_t tiny_generate_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                          const struct attn_search_options *o,
                          attn_take_id *take, void *user)
{
    return attn_generate_ids(&model, h, ids, n, o, take, user);
}

int tiny_drafter(struct attn_handle *h, struct attn_drafter *to)
{
    return attn_drafter(&model, h, to);
}

int64_t tiny_submit_ids(struct attn_handle *h, const int32_t *ids, int64_t n,
                        const struct attn_search_options *o)
{
    return attn_submit_ids(&model, h, ids, n, o);
}

int64_t tiny_work(struct attn_handle *h, struct attn_event *events, int64_t cap)
{
    return attn_work(&model, h, events, cap);
}

int tiny_cancel(struct attn_handle *h, int64_t id)
{
    return attn_cancel(&model, h, id);
}

int tiny_score_ids(struct attn_handle *h, const int32_t *source, int64_t n,
                   const int32_t *target, int64_t target_n,
                   double *log_probability)
{
    return attn_score_ids(&model, h, source, n, target, target_n,
                          log_probability);
}

#ifdef ATTNC_MAIN
#define bind_file tiny_bind
#define bind_file_lazily tiny_bind_lazily
#define spec_states_beam 1
#define spec_has_chat 0

static __attribute__((noinline)) int program_main(int argc,
                                                  char **argv);

/* settings.h: options of a search, for attnc and for emitted programs;
 * option_rows.h has a row for each member. Also declares message texts, and
 * hints for unknown options. */
#ifndef ATTN_SETTINGS_1
#define ATTN_SETTINGS_1

/* The ways to use a model. Each option lists the uses to which it applies. */
enum {
    ATTN_FOR_LINES = 1,
    ATTN_FOR_PROMPT = 2,
    ATTN_FOR_SCORE = 4,
    ATTN_FOR_ENCODE = 8,   /* token ids in, rows of numbers out */
    ATTN_FOR_NUMBERS = 16, /* rows of numbers in, rows of numbers out */
    ATTN_FOR_CHAT = 32
};

struct attn_settings { /* search options; -1, or 0 for beam and nbest, means the
                        * value of the spec */
    const char *prefix, *draft;
    const char *grammar; /* path of a file; NULL: none */
    int64_t beam, nbest, end_token;
    int64_t max_input, max_output; /* maximum lengths; 0: the model's limit */
    float alpha, patience;
    bool scores, unordered;
    int64_t batch, prompt_rows;   /* answers at a time; tokens of new lines that
                                   * are read in a call */
    int64_t memory, prefix_cache; /* MiB of keys and values of answers, and of
                                   * beginnings of lines; -1: a part of the
                                   * machine's memory */
    struct attn_process process;   /* some numbers; -1: not given */
    struct attn_sampling sampling; /* a temperature of -1: not given */
};

/* ---- words.c ---- */

/* Returns the name that messages give to a use. */
ATTN_API const char *attn_use_text(int use);

/* Returns the end of the message that the option does not apply to this use:
 * ": use OTHER" if there is another option for it, or "". */
ATTN_API const char *attn_use_hint(const char *option, int use);
/* Writes up to 80 bytes of a text for a message; bytes that are not printable
 * ASCII become \xHH. */
enum { ATTN_QUOTED = 4 * 80 + 8 };
ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED]);
/* Returns the Levenshtein distance of two texts; 64 if either has more than 63
 * bytes. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb);

/* ---- option_hints.c ---- */
struct attn_synonym { /* other tools' names for options, a row of synonyms.h */
    const char *answer, *names;
};
struct attn_options {        /* the options that a command accepts */
    const char *const *name; /* "--seed", "SPEC", "--format=json" */
    const struct attn_synonym *synonym;
    int names, synonyms;
};
/* True if the answer begins with something that the command accepts. */
ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o);
/* Maximum distance of a hint from the word; each level includes those before
 * it. */
enum {
    ATTN_HINT_NAMED, /* another spelling, or another tool's name */
    ATTN_HINT_BEGUN, /* the beginning of a name */
    ATTN_HINT_NEAR   /* a name one or two letters away */
};
/* Returns the likely meaning of an option that the command does not have: a
 * name in `o`, or the answer of a synonym. Returns NULL if nothing is
 * similar. */
ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how);

#endif

/* words.c: helpers for error messages: names of uses, quoted text, and the edit
 * distance for suggestions. */

ATTN_API const char *attn_use_text(int use)
{
    if (use & ATTN_FOR_LINES && use & ATTN_FOR_PROMPT)
        return "answers";
    if (use & ATTN_FOR_PROMPT)
        return "--prompt";
    if (use & ATTN_FOR_CHAT)
        return "--chat";
    if (use == ATTN_FOR_ENCODE)
        return "lines that an encoder reads";
    if (use & ATTN_FOR_LINES)
        return "lines of stdin";
    return "--score";
}

ATTN_API const char *attn_use_hint(const char *option, int use)
{
    return strcmp(option, "-n") == 0 && (use & ATTN_FOR_LINES) != 0
             ? ": use --max-output"
             : "";
}

ATTN_API void attn_quote(const char *text, int64_t n, char out[ATTN_QUOTED])
{
    const int64_t most = ATTN_QUOTED / 4 - 2;
    char *at = out, *const end = out + ATTN_QUOTED;

    for (int64_t i = 0; i < n && i < most; i++) {
        const char *form = text[i] >= ' ' && text[i] <= '~' ? "%c" : "\\x%02x";
        at += snprintf(at, (size_t)(end - at), form, (unsigned char)text[i]);
    }
    snprintf(at, (size_t)(end - at), "%s", n > most ? "..." : "");
}

/* Stores only one row of the table of distances at a time. */
ATTN_API int attn_distance(const char *a, size_t na, const char *b, size_t nb)
{
    int row[64];

    if (na > 63 || nb > 63)
        return 64;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= na; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= nb; j++) {
            const int above = row[j];
            int least = corner + (a[i - 1] != b[j - 1]);
            if (above + 1 < least)
                least = above + 1;
            if (row[j - 1] + 1 < least)
                least = row[j - 1] + 1;
            row[j] = least;
            corner = above;
        }
    }
    return row[nb];
}

/* input_lines.h: lines of stdin, and the token ids of a line. input_lines.c
 * describes the functions. */
#ifndef ATTN_INPUT_LINES_1
#define ATTN_INPUT_LINES_1

enum {
    ATTN_LINE = 1 << 20, /* maximum bytes of a line; longer ones are skipped */
    ATTN_WHY = 512       /* maximum bytes of a message */
};

struct attn_lines {
    char *buffer; /* [ATTN_LINE + 1] */
    int64_t begin, end;
    int64_t number; /* number of the last line read, from 1 */
    int error;      /* errno of a read that failed; 0: none */
    bool over;      /* the input has ended; only the buffer is left */
    char ending;    /* line terminator: '\n' or NUL */
    int64_t (*read)(char *to, int64_t most); /* instead of read() of stdin;
                                              * NULL: read() */
};

enum { LINE_READ, LINE_LONG, LINE_WAIT, LINE_END };

struct attn_side { /* how source or target tokens are read and written */
    int64_t size; /* all ids are below this */
};

#endif

/* input_lines.c: reads lines of stdin, and the token ids of a line. */

static int64_t line_read(const struct attn_lines *l, char *to, int64_t most)
{
    if (l->read)
        return l->read(to, most);
    return read(STDIN_FILENO, to, (size_t)most);
}

/* True if reading would not block. */
static bool line_ready(const struct attn_lines *l)
{
    struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
    return !l->read && poll(&in, 1, 0) == 1;
}

/* Reads input once and appends it to the buffer. */
static void line_fill(struct attn_lines *l)
{
    int64_t n;

    memmove(l->buffer, l->buffer + l->begin, (size_t)(l->end - l->begin));
    l->end -= l->begin;
    l->begin = 0;
    do
        n = line_read(l, l->buffer + l->end, ATTN_LINE + 1 - l->end);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        l->error = errno;
    if (n > 0)
        l->end += n;
    l->over = n <= 0;
}

/* Skips the rest of a line that is too long. Returns the length of the line. */
static int64_t line_drop(struct attn_lines *l)
{
    int64_t dropped = 0;

    while (1) {
        const char *at = l->buffer + l->begin;
        const char *eol = memchr(at, l->ending, (size_t)(l->end - l->begin));
        const int64_t n = eol ? eol - at : l->end - l->begin;
        dropped += n;
        l->begin += n + (eol != NULL);
        if (eol || l->over)
            return dropped;
        line_fill(l);
    }
}

/* Reads the next line and removes the newline and a carriage return before it.
 * *text is valid until the next call. Before the first line, skips the byte
 * order mark that some editors write. Returns LINE_WAIT if reading would block
 * and `wait` is 0, or LINE_LONG, with the length of the line in *n. */
ATTN_API int attn_next_line(struct attn_lines *l, int wait, const char **text,
                            int64_t *n)
{
    while (1) {
        if (l->number == 0 && l->ending && l->end - l->begin >= 3
            && memcmp(l->buffer + l->begin, "\xef\xbb\xbf", 3) == 0)
            l->begin += 3;
        const int64_t have = l->end - l->begin;
        *text = l->buffer + l->begin;
        const char *eol = memchr(*text, l->ending, (size_t)have);
        if (eol || (l->over && have > 0)) {
            *n = eol ? eol - *text : have;
            l->begin += *n + (eol != NULL);
            *n -= eol && l->ending && *n > 0 && (*text)[*n - 1] == '\r';
            l->number++;
            return LINE_READ;
        }
        if (l->over)
            return LINE_END;
        if (have > ATTN_LINE) {
            *n = line_drop(l);
            l->number++;
            return LINE_LONG;
        }
        if (!wait && !line_ready(l))
            return LINE_WAIT;
        line_fill(l);
    }
}

/* ---- tokens ---- */

/* True if a number may end here: at a space, or at the end of the line. */
ATTN_API int attn_number_ends(const char *at, const char *end)
{
    return at == end || *at == ' ' || *at == '\t' || *at == '\r';
}

/* Parses decimal ids. Returns their number, or -1 with *why. */
ATTN_API int64_t attn_line_ids(const struct attn_side *s, const char *text,
                               int64_t bytes, int32_t *ids, char why[ATTN_WHY])
{
    const char *at = text, *const end = text + bytes;
    int64_t n = 0;

    while (at < end) {
        const char *from = at;
        int64_t id = 0;
        while (at < end && *at >= '0' && *at <= '9') {
            id = attn_min(id * 10 + (*at - '0'), INT32_MAX);
            at++;
        }
        if (at == from && attn_number_ends(at, end)) {
            at++;
            continue;
        }
        if (!attn_number_ends(at, end) || id >= s->size) {
            snprintf(why, ATTN_WHY,
                     "byte %lld: a token id from 0 to %lld is expected",
                     (long long)(from - text) + 1, (long long)s->size - 1);
            return -1;
        }
        ids[n] = (int32_t)id;
        n++;
    }
    return n;
}

/* descriptor.h: file names that refer to descriptors that are already open. */
#ifndef ATTN_DESCRIPTOR_1
#define ATTN_DESCRIPTOR_1

/* Returns the descriptor that "-", /dev/stdout or a path like /dev/fd/7 names,
 * or -1 for other paths. The caller must write to the descriptor itself:
 * opening the path again fails if it is a socket, and opens another file if a
 * file was renamed to the path. */
ATTN_API int attn_descriptor(const char *path);

#endif

/* descriptor.c: file names that refer to descriptors that are already open. */

ATTN_API int attn_descriptor(const char *path)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return 1;
    if (strcmp(path, "/dev/stderr") == 0)
        return 2;
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], n) != 0 || path[n] < '0' || path[n] > '9')
            continue;
        const long fd = strtol(path + n, &end, 10);
        if (!*end && fd <= INT32_MAX)
            return (int)fd;
    }
    return -1;
}

/* shard_record.h: the record of a shard. Shard I of N answers every N-th block
 * of the input, from block I - 1 on; a block is ATTN_SHARD_BLOCK questions. Its
 * answers go to OUTPUT.I-of-N, which appears when it is complete; until then
 * they are in OUTPUT.I-of-N.part. The record, in OUTPUT.I-of-N.shard, grows by
 * a line when a block is complete. --resume goes on behind the last one, and
 * attnc merge joins the shards block by block.
 *
 *     attnc shard 1
 *     shard 2/5
 *     model 0123456789abcdef    hash of spec, weights and vocabularies
 *     options --beam=4          those that change answers
 *     columns 384               of a .npy file; 0: answers are text
 *     block 1 73211 0 89ab12    block 1 ends at this byte; 1: with errors;
 *                               hash of the input up to there
 *     end 100000 89abcdef       questions of the input, and its hash */
#ifndef ATTN_SHARD_RECORD_1
#define ATTN_SHARD_RECORD_1

enum {
    ATTN_SHARD_BLOCK = 1024,
    ATTN_SHARDS = 1 << 20,        /* maximum N */
    ATTN_SHARD_HEAD = 5,          /* lines before the blocks */
    ATTN_SHARD_COLUMNS = 1 << 24, /* maximum columns */
    ATTN_NPY_HEAD = 128           /* bytes before the numbers of a .npy file */
};
#define ATTN_SHARD_QUESTIONS ((int64_t)1 << 50)

struct attn_shard {
    int64_t which, shards; /* I - 1 and N */
    uint64_t model;
    uint64_t input; /* hash of the input so far, or of all if complete */
    const char *options;
    int64_t columns;
    int64_t blocks;    /* the shard's own blocks that are answered */
    int64_t end;       /* end of the last one in the answers, in bytes */
    int64_t questions; /* of all the input, if complete */
    bool errors;       /* questions up to there were invalid */
    bool complete;
    int64_t lines, bytes; /* complete lines of the record, and their bytes */
};

#endif

/* shard_record.c: reads the record of a shard, and the words after --shard. */

/* ---- place ---- */

/* Variables that launchers set in each process: Open MPI's mpirun; that of
 * MPICH and Intel MPI; MVAPICH's; srun. */
static const char *const shard_launchers[][2] = {
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", "PMI_SIZE" },
    { "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
    { "SLURM_PROCID", "SLURM_NTASKS" },
};

enum { SHARD_LAUNCHERS = 4, SHARD_MPI = 3 /* those of MPI are the first */ };

/* Returns false if none of the first `launchers` has started this process. */
static int shard_started(int launchers, int64_t *which, int64_t *shards)
{
    for (int i = 0; i < launchers; i++) {
        const char *rank = getenv(shard_launchers[i][0]);
        const char *size = getenv(shard_launchers[i][1]);
        long long of = 0, n = 0;
        if (!rank || !size || sscanf(rank, "%lld", &of) != 1
            || sscanf(size, "%lld", &n) != 1 || of < 0 || of >= n)
            continue;
        *which = of;
        *shards = n;
        return 1;
    }
    return 0;
}

static int shard_launched(int64_t *which, int64_t *shards, char why[ATTN_WHY])
{
    if (!shard_started(SHARD_LAUNCHERS, which, shards)) {
        snprintf(why, ATTN_WHY,
                 "--shard=mpi is for processes that mpirun or srun starts; "
                 "give --shard=I/N");
        return 0;
    }
    if (*shards > ATTN_SHARDS)
        snprintf(why, ATTN_WHY,
                 "--shard=mpi: %lld processes, at most %d shards are "
                 "supported",
                 (long long)*shards, ATTN_SHARDS);
    return *shards <= ATTN_SHARDS;
}

/* Not srun's: a batch script of Slurm has its variables too. */
ATTN_API int attn_mpi_place(int64_t *rank, int64_t *ranks)
{
    return shard_started(SHARD_MPI, rank, ranks);
}

ATTN_API int attn_shard_place(const char *text, int64_t *which, int64_t *shards,
                              char why[ATTN_WHY])
{
    char quoted[ATTN_QUOTED];
    long long i = 0, n = 0;
    int end = 0;

    if (strcmp(text, "mpi") == 0)
        return shard_launched(which, shards, why);
    attn_quote(text, (int64_t)strlen(text), quoted);
    if (sscanf(text, "%lld/%lld%n", &i, &n, &end) != 2 || text[end] || i < 1
        || n < 1 || n > ATTN_SHARDS) {
        snprintf(why, ATTN_WHY,
                 "--shard=%s: I/N is expected, as 1/4, with 1 <= I <= N <= "
                 "%d; or mpi",
                 quoted, ATTN_SHARDS);
        return 0;
    }
    if (i > n)
        snprintf(why, ATTN_WHY, "--shard=%lld/%lld: there are only %lld shards",
                 i, n, n);
    *which = i - 1;
    *shards = n;
    return i <= n;
}

/* ---- record ---- */

static int shard_line_block(struct attn_shard *r, const char *line,
                            int64_t *ends)
{
    const int64_t head = r->columns ? ATTN_NPY_HEAD : 0;
    long long block, end;
    unsigned long long hash;
    int errors, n = 0;

    if (sscanf(line, "block %lld %lld %d %16llx%n", &block, &end, &errors,
               &hash, &n)
            != 4
        || line[n] || block != r->which + r->blocks * r->shards || end < r->end
        || (r->columns && (end - head) % (4 * r->columns) != 0))
        return 0;
    if (ends)
        ends[r->blocks] = end;
    r->input = hash;
    r->errors |= errors != 0;
    r->end = end;
    r->blocks++;
    return 1;
}

static int shard_line_end(struct attn_shard *r, const char *line)
{
    unsigned long long hash;
    long long n;
    int end = 0;

    if (sscanf(line, "end %lld %16llx%n", &n, &hash, &end) != 2 || line[end]
        || n < 0 || n > ATTN_SHARD_QUESTIONS)
        return 0;
    r->questions = n;
    r->input = hash;
    r->complete = true;
    return 1;
}

/* Reads one of the first five lines. */
static int shard_line_head(struct attn_shard *r, const char *line)
{
    static const char options[] = "options ";
    unsigned long long hash;
    long long i, n;
    int end = 0;

    switch (r->lines) {
    case 0: return strcmp(line, "attnc shard 1") == 0;
    case 1:
        if (sscanf(line, "shard %lld/%lld%n", &i, &n, &end) != 2 || line[end]
            || i < 1 || i > n || n > ATTN_SHARDS)
            return 0;
        r->which = i - 1;
        r->shards = n;
        return 1;
    case 2:
        if (sscanf(line, "model %16llx%n", &hash, &end) != 1 || line[end])
            return 0;
        r->model = hash;
        return 1;
    case 3:
        r->options = line + sizeof options - 1;
        return strncmp(line, options, sizeof options - 1) == 0;
    default:
        if (sscanf(line, "columns %lld%n", &n, &end) != 1 || line[end] || n < 0
            || n > ATTN_SHARD_COLUMNS)
            return 0;
        r->columns = n;
        r->end = n ? ATTN_NPY_HEAD : 0;
        return 1;
    }
}

static int shard_line(struct attn_shard *r, const char *line, int64_t *ends)
{
    if (r->lines < ATTN_SHARD_HEAD)
        return shard_line_head(r, line);
    if (r->complete)
        return 0;
    if (strncmp(line, "end ", 4) == 0)
        return shard_line_end(r, line);
    return shard_line_block(r, line, ends);
}

ATTN_API int attn_shard_read(struct attn_shard *r, char *text, int64_t n,
                             int64_t *ends, char why[ATTN_WHY])
{
    memset(r, 0, sizeof *r);
    while (r->bytes < n) {
        char *line = text + r->bytes;
        char *end = memchr(line, '\n', (size_t)(n - r->bytes));
        if (!end)
            break;
        *end = '\0';
        if (!shard_line(r, line, ends)) {
            snprintf(why, ATTN_WHY, ":%lld: this is not the record of a shard",
                     (long long)r->lines + 1);
            return 0;
        }
        r->bytes = end + 1 - text;
        r->lines++;
    }
    if (r->lines < ATTN_SHARD_HEAD)
        snprintf(why, ATTN_WHY,
                 ": this is not the record of a shard: it ends early");
    return r->lines >= ATTN_SHARD_HEAD;
}

/* option_hints.c: suggests the intended option if a command does not have the
 * given one. */

enum { HINT_BYTES = 64 };

/* Writes a word in a normal form, so that names can be compared:
 * "-Max_Tokens=3" becomes "--max-tokens". A single letter is not changed,
 * because -V and -v are different options. */
static void hint_form(const char *word, char form[HINT_BYTES])
{
    const size_t length = strcspn(word, "=");
    size_t n = 0;

    if (length > 2 && word[0] == '-' && word[1] != '-') {
        form[n] = '-';
        n++;
    }
    for (size_t i = 0; i < length && n < HINT_BYTES - 1; i++) {
        char c = word[i];
        if (c == '_')
            c = '-';
        else if (length > 2 && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        form[n] = c;
        n++;
    }
    form[n] = '\0';
}

ATTN_API bool attn_hint_applies(const char *answer,
                                const struct attn_options *o)
{
    const size_t n = strcspn(answer, " ");

    if (*answer >= 'a' && *answer <= 'z')
        return true;
    for (int i = 0; i < o->names; i++)
        if (strncmp(o->name[i], answer, n) == 0 && !o->name[i][n])
            return true;
    return false;
}

/* Returns the maximum edit distance of a typo: two letters, one if the name has
 * three letters, none if it is shorter. */
static int hint_limit(const char *form)
{
    const size_t letters = strlen(form) - strspn(form, "-");

    return letters < 3 ? 0 : letters == 3 ? 1 : 2;
}

struct hint { /* the best match so far */
    const char *form, *answer;
    int distance;
};

/* Stores the answer if the name, of n bytes, is nearer than all previous
 * names. */
static void hint_try(struct hint *h, const char *name, size_t n,
                     const char *answer)
{
    const int distance = strlen(h->form) == n && !strncmp(h->form, name, n)
                           ? 0
                           : attn_distance(h->form, strlen(h->form), name, n);

    if (distance < h->distance) {
        h->answer = answer;
        h->distance = distance;
    }
}

/* Returns the answer for the nearest name of another tool's option, if it is at
 * most `limit` letters away. */
static const char *hint_synonym(const char *form, const struct attn_options *o,
                                int limit)
{
    struct hint h = { form, NULL, limit + 1 };

    for (int i = 0; i < o->synonyms; i++) {
        const char *at = o->synonym[i].names;
        if (!attn_hint_applies(o->synonym[i].answer, o))
            continue;
        while (*at) {
            const size_t n = strcspn(at, " ");
            hint_try(&h, at, n, o->synonym[i].answer);
            at += n + strspn(at + n, " ");
        }
    }
    return h.answer;
}

/* Returns the nearest option, if it is at most `limit` letters away. */
static const char *hint_name(const char *form, const struct attn_options *o,
                             int limit)
{
    struct hint h = { form, NULL, limit + 1 };

    for (int i = 0; i < o->names; i++)
        hint_try(&h, o->name[i], strlen(o->name[i]), o->name[i]);
    return h.answer;
}

/* Returns the shortest option whose name begins with `form`. */
static const char *hint_begun(const char *form, const struct attn_options *o)
{
    const size_t n = strlen(form);
    const char *best = NULL;

    for (int i = 0; n > 3 && i < o->names; i++)
        if (strncmp(o->name[i], form, n) == 0
            && (!best || strlen(o->name[i]) < strlen(best)))
            best = o->name[i];
    return best;
}

ATTN_API const char *attn_option_hint(const char *word,
                                      const struct attn_options *o, int how)
{
    char form[HINT_BYTES];
    const char *hint;

    hint_form(word, form);
    hint = hint_name(form, o, 0);
    if (!hint && how >= ATTN_HINT_BEGUN)
        hint = hint_begun(form, o);
    if (!hint)
        hint = hint_synonym(form, o, 0);
    if (!hint && how >= ATTN_HINT_NEAR)
        hint = hint_name(form, o, hint_limit(form));
    if (!hint && how >= ATTN_HINT_NEAR)
        hint = hint_synonym(form, o, hint_limit(form));
    return hint;
}

/* search_settings.h: applies the options to the search settings of the spec. */
#ifndef ATTN_SEARCH_SETTINGS_1
#define ATTN_SEARCH_SETTINGS_1

/* Returns the temperature; 0 means always the most likely token. */
ATTN_API float attn_settings_temperature(const struct attn_settings *s);
/* Returns the kind of --draft, such as ATTN_DRAFT_MODEL for the name of a
 * spec. */
ATTN_API int64_t attn_settings_draft(const struct attn_settings *s);
/* Applies the options to `o`, the spec's search settings. `stated` is true if
 * the spec sets the beam. */
ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o);
/* Returns a message about options that cannot be combined, or NULL if all can.
 * `use` is ATTN_FOR_LINES or ATTN_FOR_PROMPT. */
ATTN_API const char *attn_settings_wrong(const struct attn_settings *s,
                                         int use);

#endif

/* search_settings.c: applies the options to the search settings of the spec. */

/* Returns the temperature. Without --temperature it is 1 if any other sampling
 * option is given, otherwise 0. */
ATTN_API float attn_settings_temperature(const struct attn_settings *s)
{
    const struct attn_sampling *o = &s->sampling;
    if (o->temperature >= 0.0f)
        return o->temperature;
    return o->top_k > 0 || o->top_p > 0.0f || o->min_p > 0.0f ? 1.0f : 0.0f;
}

/* Returns the beam. --nbest widens it only if neither --beam nor the spec sets
 * it, because the beam affects the result. */
static int64_t settings_beam(const struct attn_settings *s, int stated,
                             int64_t beam)
{
    if (s->beam > 0)
        return s->beam;
    if (attn_settings_temperature(s) > 0.0f)
        return 1;
    return stated ? beam : attn_max(beam, s->nbest);
}

ATTN_API int64_t attn_settings_draft(const struct attn_settings *s)
{
    if (!s->draft)
        return ATTN_DRAFT_NONE;
    return strcmp(s->draft, "ngram") == 0 ? ATTN_DRAFT_NGRAM : ATTN_DRAFT_MODEL;
}

ATTN_API void attn_settings_apply(const struct attn_settings *s, int stated,
                                  int64_t seed, struct attn_search_options *o)
{
    o->beam = settings_beam(s, stated, o->beam);
    o->results = attn_max(s->nbest, 1);
    if (s->alpha >= 0.0f)
        o->alpha = s->alpha;
    if (s->max_output > 0) {
        o->max_output = s->max_output;
        o->max_output_plus = -1;
    }
    if (s->end_token >= 0) {
        o->end = (int32_t)s->end_token;
        o->ends_count = 0;
    }
    o->max_input = s->max_input;
    o->patience = s->patience;
    o->want_scores = s->scores;
    if (s->process.min_length >= 0) {
        o->process.min_length = s->process.min_length;
        o->process.min_total = 0;
    }
    if (s->process.repetition_penalty >= 0.0f)
        o->process.repetition_penalty = s->process.repetition_penalty;
    if (s->process.no_repeat_ngram >= 0)
        o->process.no_repeat_ngram = s->process.no_repeat_ngram;
    o->draft = attn_settings_draft(s);
    o->sampling = s->sampling;
    o->sampling.temperature = attn_settings_temperature(s);
    o->sampling.seed = seed;
}

ATTN_API const char *attn_settings_wrong(const struct attn_settings *s, int use)
{
    if (use == ATTN_FOR_PROMPT && s->beam > 1)
        return "--beam is for lines of stdin, not for --prompt";
    if (use == ATTN_FOR_LINES && attn_settings_temperature(s) > 0.0f
        && (s->beam > 1 || s->nbest > 1))
        return "tokens that are drawn make one answer: leave out --beam and "
               "--nbest, or --temperature and --top-k, --top-p, --min-p";
    return NULL;
}

/* program.h: the program that an emitted file contains under ATTNC_MAIN. It
 * reads lines from stdin and prints answers on stdout. The model decides what a
 * line is: text, if the weights have a vocabulary; token ids; or a row of
 * numbers, in blocks that end with an empty line. A model of `kind: attention`
 * reads three blocks (queries, keys, values) as one question. The options are
 * the rows of runtime/options/option_rows.h. attnc run and attnc score are also
 * this program, with an engine as the model. Exit codes: 0 done, 2 usage, 3 bad
 * input (all other lines are answered), 4 I/O, 5 memory, 6 another processor,
 * 70 a bug. */
#ifndef ATTN_PROGRAM_1
#define ATTN_PROGRAM_1

enum {
    PROGRAM_PARTS = 32,  /* maximum parts per batch */
    PROGRAM_ROWS = 8192, /* no part is added to a batch with this many rows */
    PROGRAM_FILES = 3    /* maximum mapped files: weights, a state, a
                          * grammar */
};

struct room { /* memory that only grows */
    void *at;
    int64_t bytes;
};

struct program_list {
    const char **at;
    int64_t n;
};

/* The encoding of a text. Token ids need none. */
enum {
    TOKENS_LINE,  /* a complete text, with the vocabulary's template */
    TOKENS_PLAIN, /* a complete text, without the template */
    TOKENS_BEGUN  /* the continuation of an earlier text */
};

struct shard_files { /* files of --shard */
    struct attn_shard r;
    char *output, *part, *path; /* answers when complete, and until then; the
                                 * record */
    char *options;              /* those that change answers */
    char *text;                 /* the record as it was, n bytes */
    int64_t n;
    int answers, record; /* descriptors */
    int64_t per;         /* parts of a question: 3 for attention, else 1 */
    int64_t rows;        /* of the question that is skipped */
    uint64_t input;      /* hash of the lines so far */
    bool checked;        /* they are those of the blocks answered before */
    bool failed;         /* they are not: nothing more is answered */
};

struct program {
    const char *name; /* name of the program, argv[0] */
    const struct attn_model *m;
    const char *path; /* file of the packed weights */
    const char *file; /* contents of that file */
    int64_t bytes;
    const void *packed; /* the packed weights within `file` */
    struct attn_side source, target;
    int status;         /* exit code; a value above 3 ends the program */
    char why[ATTN_WHY]; /* error in a line or an option */
    /* options */
    int use;        /* one of ATTN_FOR_LINES etc. */
    uint64_t given; /* given options, as bits by row of program_option */
    struct attn_settings set;
    struct program_list stop, suppress;
    const char *prompt, *save_state, *load_state, *system, *prompt_name;
    const char *task_name; /* of --task; NULL: none */
    int64_t tokens, seed, threads, rank_timeout;
    const char *shard, *output; /* these two and `resume` change no answer */
    bool resume;
    bool ids, pairs, quiet, score, chat, unchecked, help, version;
    bool collectives; /* this and `input`: of ranks */
    const char *input;
    /* lines */
    struct attn_lines in;
    /* the parts of a batch; a part is a line or a block of lines */
    int64_t width; /* items per row: 1 token, or the numbers of a row */
    int64_t n;     /* number of items in this batch so far */
    int64_t parts; /* number of complete parts in this batch */
    int64_t ended; /* number of complete parts in all batches */
    int32_t start[PROGRAM_PARTS + 1]; /* first row of each part */
    int bad[PROGRAM_PARTS];           /* [parts]: rejected, so not answered */
    int64_t last[PROGRAM_PARTS];      /* [parts]: number of the last line */
    int refused;                      /* the part read has an invalid line */
    int64_t beyond; /* excess rows of that part, which are dropped */
    /* memory, threads */
    struct room bound, items, work, text, found, prefix, suppressed, turn;
    struct room grammar;
    struct room types; /* token types of the items, for --pairs */
    int64_t more; /* ids in addition to those of a line: of a pair, a prompt */
    const char *before; /* text that precedes each line; NULL: none */
    int64_t task;       /* one of ATTN_TASK_NONE etc. */
    int32_t task_given[PROGRAM_PARTS]; /* tokens of each part that rows attend
                                        * to */
    struct room frame;                 /* [frame_n] ids that end all inputs */
    int64_t frame_n;
    struct attn_pool *pool;
    const struct attn_parallel *parallel; /* threads for calls; NULL: one */
    struct shard_files own;
};

struct score_pair { /* ids of an input, and of an output including its end
                     * token, in p->items */
    int64_t at, n, target, target_n;
};

enum { OPTION_FLAG, OPTION_WHOLE, OPTION_REAL, OPTION_TEXT, OPTION_LIST };

struct program_option {
    const char *group, *name;
    const char *takes; /* placeholder of the value; NULL: no value */
    int kind, use;     /* kind of the option; uses to which it applies, as bits
                        * ATTN_FOR_LINES etc. */
    size_t at;         /* offset of the value in struct program */
    double least, most, default_value;
    const char *help;
};

#endif

/* program_messages.c: prints messages on stderr. */

/* Prints "NAME: error: ..." and sets the exit code, so that the program
 * ends. */
static void program_fail(struct program *p, int code, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: error: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    p->status = code;
}

/* Prints "NAME: warning: ...". */
static void program_warn(struct program *p, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr, "%s: warning: ", p->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

/* Prints p->why as the error of a line, which then has no answer. */
static void program_refuse(struct program *p, int64_t line)
{
    if (p->status > 3)
        return;
    fprintf(stderr, "<stdin>:%lld: error: %s\n", (long long)line, p->why);
    p->status = 3;
}

#define PROGRAM_ATTNC "0.1.0"
#define AT(member) offsetof(struct program, member)

static const struct program_option program_option[] = {
    { "Lines", "--ids", NULL, OPTION_FLAG, 7, AT(ids),
      0, 0, 0, "read and write token ids instead of text" },
    { "Lines", "--prefix", "TEXT", OPTION_TEXT, 3, AT(set.prefix),
      0, 0, 0, "first tokens of every answer" },
    { "Lines", "--max-input", "N", OPTION_WHOLE, 3, AT(set.max_input),
      1, 2147483647, 0, "cut longer inputs to this many tokens" },
    { "Lines", "--shard", "I/N", OPTION_TEXT, 1, AT(shard),
      0, 0, 0, "answer a part of the lines, into a file of its own" },
    { "Lines", "--resume", NULL, OPTION_FLAG, 1, AT(resume),
      0, 0, 0, "--shard: go on after a run that was ended" },
    { "Lines", "-o", "FILE", OPTION_TEXT, 1, AT(output),
      0, 0, 0, "--shard: the file is FILE.I-of-N" },
    { "Lines", "--score", NULL, OPTION_FLAG, 4, AT(score),
      0, 0, 0, "print the log-probability of lines INPUT tab OUTPUT" },
    { "Prompt", "--prompt", "TEXT", OPTION_TEXT, 2, AT(prompt),
      0, 0, 0, "answer this text, token by token" },
    { "Prompt", "-n", "N", OPTION_WHOLE, 34, AT(tokens),
      0, 2147483647, -1, "at most this many tokens of that answer" },
    { "Prompt", "--stop", "TEXT", OPTION_LIST, 34, AT(stop),
      0, 0, 0, "end before this text (--ids: these tokens)" },
    { "Prompt", "--save-state", "FILE", OPTION_TEXT, 2, AT(save_state),
      0, 0, 0, "save the state after the answer; - is stdout" },
    { "Prompt", "--load-state", "FILE", OPTION_TEXT, 2, AT(load_state),
      0, 0, 0, "continue from a saved state; --prompt adds text" },
    { "Prompt", "--quiet", NULL, OPTION_FLAG, 39, AT(quiet),
      0, 0, 0, "print no notes and no tokens per second" },
    { "Chat", "--chat", NULL, OPTION_FLAG, 32, AT(chat),
      0, 0, 0, "lines are turns of one conversation" },
    { "Chat", "--system", "TEXT", OPTION_TEXT, 32, AT(system),
      0, 0, 0, "text of the system's turn" },
    { "Search", "--beam", "N", OPTION_WHOLE, 3, AT(set.beam),
      1, 1024, 0, "number of hypotheses; 1 is greedy" },
    { "Search", "--nbest", "N", OPTION_WHOLE, 1, AT(set.nbest),
      1, 1024, 0, "answers per line, each after the line's number" },
    { "Search", "--scores", NULL, OPTION_FLAG, 1, AT(set.scores),
      0, 0, 0, "begin each answer with its score" },
    { "Search", "--alpha", "X", OPTION_REAL, 3, AT(set.alpha),
      0, 100, -1, "strength of the length penalty" },
    { "Search", "--length-penalty", "X", OPTION_REAL, 3, AT(set.alpha),
      0, 100, -1, "the same as --alpha" },
    { "Search", "--patience", "X", OPTION_REAL, 3, AT(set.patience),
      0, 100, 1, "rule recorded: stop at --beam times this many" },
    { "Search", "--min-length", "N", OPTION_WHOLE, 35, AT(set.process.min_length),
      0, 2147483647, -1, "no end token before this many tokens" },
    { "Search", "--max-output", "N", OPTION_WHOLE, 35, AT(set.max_output),
      1, 2147483647, 0, "at most this many tokens in an answer" },
    { "Search", "--repetition-penalty", "X", OPTION_REAL, 35, AT(set.process.repetition_penalty),
      0.001, 1000, -1, "divide the logits of tokens that came already by X" },
    { "Search", "--no-repeat-ngram", "N", OPTION_WHOLE, 35, AT(set.process.no_repeat_ngram),
      0, 1000, -1, "repeat no n-gram of this length" },
    { "Search", "--suppress", "TOKENS", OPTION_LIST, 35, AT(suppress),
      0, 0, 0, "forbid a token or a sequence of tokens" },
    { "Search", "--grammar", "FILE", OPTION_TEXT, 35, AT(set.grammar),
      0, 0, 0, "answers follow this grammar, in GBNF" },
    { "Search", "--end-token", "ID", OPTION_WHOLE, 35, AT(set.end_token),
      0, 2147483647, -1, "this token ends an answer" },
    { "Search", "--draft", "HOW", OPTION_TEXT, 34, AT(set.draft),
      0, 0, 0, "guess tokens, read several: ngram, or a model" },
    { "Sampling", "--temperature", "X", OPTION_REAL, 35, AT(set.sampling.temperature),
      0, 1000000, -1, "draw tokens at random; 0: take the best" },
    { "Sampling", "--top-k", "N", OPTION_WHOLE, 35, AT(set.sampling.top_k),
      0, 2147483647, 0, "draw from the N most probable tokens" },
    { "Sampling", "--top-p", "X", OPTION_REAL, 35, AT(set.sampling.top_p),
      0, 1, 0, "draw from the fewest tokens with this probability" },
    { "Sampling", "--min-p", "X", OPTION_REAL, 35, AT(set.sampling.min_p),
      0, 1, 0, "draw from tokens X times as probable as the best" },
    { "Batch", "--batch", "N", OPTION_WHOLE, 1, AT(set.batch),
      1, 1024, 32, "lines that are answered at the same time" },
    { "Batch", "--prompt-rows", "N", OPTION_WHOLE, 1, AT(set.prompt_rows),
      1, 2147483647, 512, "tokens of new lines read between two steps" },
    { "Batch", "--memory", "MIB", OPTION_WHOLE, 1, AT(set.memory),
      1, 2147483647, -1, "MiB for keys and values; default: half of all" },
    { "Batch", "--prefix-cache", "MIB", OPTION_WHOLE, 1, AT(set.prefix_cache),
      0, 2147483647, -1, "MiB for beginnings of lines; default: 1/16 of all" },
    { "Batch", "--unordered", NULL, OPTION_FLAG, 1, AT(set.unordered),
      0, 0, 0, "print answers as they end, after line numbers" },
    { "General", "--seed", "N", OPTION_WHOLE, 35, AT(seed),
      0, 2147483647, 1, "seed of all random numbers" },
    { "General", "--threads", "N", OPTION_WHOLE, 39, AT(threads),
      1, 256, -1, "number of threads; default: one per physical core" },
    { "General", "--no-check", NULL, OPTION_FLAG, 39, AT(unchecked),
      0, 0, 0, "do not check the hash of the weights" },
    { "General", "--help", NULL, OPTION_FLAG, 39, AT(help),
      0, 0, 0, "print this text" },
    { "General", "--version", NULL, OPTION_FLAG, 39, AT(version),
      0, 0, 0, "print the name of the model and attnc's version" },
    { "General", "-V", NULL, OPTION_FLAG, 39, AT(version),
      0, 0, 0, "the same as --version" },
};
enum {
    PROGRAM_OPTIONS = sizeof program_option / sizeof *program_option
};

static const struct attn_synonym program_synonym[] = {
    { "< FILE",
          "-f --file --prompt-file --input --input-file --src "
          "--source-file -i --in" },
    { "FILE.weights without an option",
          "-m --model --model-path --model-file --weights --checkpoint -w" },
    { "--prompt", "-p --text --query --in-prompt" },
    { "--chat",
          "-i --interactive --conversation --cnv --interactive-first "
          "--instruct" },
    { "--system", "--system-prompt --sys --system-message" },
    { "--stop",
          "-r --reverse-prompt --stop-words --stop-strings "
          "--stop-sequences --antiprompt" },
    { "--max-output",
          "--max-tokens --max-new-tokens --max-length "
          "--max-decoding-length --max-target-length --max-gen-len "
          "--max-len-b --n-predict --num-predict --predict --gen-len -l" },
    { "-n",
          "--max-tokens --max-new-tokens --n-predict --num-predict "
          "--predict --n-gen --gen-len --output-len --decode-steps" },
    { "--max-input",
          "-c --ctx-size --context-size --n-ctx --max-seq-len "
          "--max-source-length --max-input-length --max-source-positions "
          "--truncate" },
    { "--min-length",
          "--min-decoding-length --min-tokens --min-new-tokens --min-len" },
    { "--ids", "--token-ids --input-ids --tokens" },
    { "--prefix", "--target-prefix --prefix-text --forced-bos-token" },
    { "--save-state", "--prompt-cache --save-session --slot-save-path" },
    { "--beam",
          "--beams --num-beams --n-beams --beam-size --beam-width "
          "--beam-search -k" },
    { "--nbest",
          "--n-best --num-hypotheses --num-return-sequences --num-results "
          "--best-of" },
    { "--scores",
          "--with-scores --with-score --return-scores --print-scores "
          "--logprobs" },
    { "--length-penalty", "--len-penalty --lenpen --length-normalization" },
    { "--repetition-penalty", "--repeat-penalty --rep-penalty --rep-pen" },
    { "--no-repeat-ngram", "--no-repeat-ngram-size" },
    { "--suppress",
          "--logit-bias --bad-words --suppress-tokens --suppress-sequences "
          "--disable-unk --ban-tokens" },
    { "--end-token", "--eos --eos-id --eos-token --eos-token-id" },
    { "--draft",
          "--lookup --prompt-lookup --prompt-lookup-num-tokens "
          "--speculative --speculate --draft-max" },
    { "--temperature",
          "--tmp --do-sample --sampling-temperature --softmax-temp" },
    { "--top-k", "-k --topk --sampling-topk" },
    { "--top-p", "--topp --sampling-topp --nucleus" },
    { "--min-p", "--minp" },
    { "--seed",
          "-s --random-seed --rng-seed --rand-seed --manual-seed "
          "--sampling-seed" },
    { "--threads",
          "-t -j --jobs --num-threads --n-threads --nthreads --nproc "
          "--num-cores --threads-batch --intra-threads --inter-threads "
          "--cpu-threads --intra-op-num-threads --inter-op-num-threads" },
    { "attnc computes on the CPU alone",
          "--device --gpu --cuda --use-gpu --use-cuda --ngl --gpu-layers "
          "--n-gpu-layers --main-gpu --tensor-split --device-map --fa "
          "--flash-attn" },
    { "--no-check", "--no-verify --skip-check --no-checksum" },
    { "> FILE", "-o --output --out --outfile --output-file" },
    { "-o FILE",
          "--output --out --outfile --output-file --out-file --output-path "
          "--output-dir --export --save" },
    { "--quiet",
          "-q --silent --no-verbose --log-disable --no-progress "
          "--no-display-prompt --no-perf" },
    { "--help", "-? --usage --man --h" },
};

/* program_shard.c: --shard=I/N: answers the questions of one shard, into files
 * of its own (shard_record.h).
 *
 * A block counts as answered when its line is in the record. The line is
 * written after the answers, so a process that is killed at any moment loses at
 * most one block of answers, which --resume makes again. */

static bool shard_wrong(struct program *p, const char *path, const char *what)
{
    program_fail(p, 4, "%s: cannot %s: %s", path, what, strerror(errno));
    return false;
}

/* Checks the options, and sets which shard this is. */
ATTN_API void shard_words(struct program *p)
{
    struct attn_shard *r = &p->own.r;

    if (p->resume && !p->shard)
        program_fail(p, 2, "--resume is for --shard=I/N; 1/1 is one shard");
    if (!p->shard)
        return;
    if (p->set.unordered)
        program_fail(p, 2,
                     "--shard keeps the order of the lines: leave out "
                     "--unordered");
    else if (!attn_shard_place(p->shard, &r->which, &r->shards, p->why))
        program_fail(p, 2, "%s", p->why);
    else if (!p->output || attn_descriptor(p->output) >= 0)
        program_fail(p, 2,
                     "--shard writes the answers to a file: name it by -o");
}

/* ---- identity ---- */

static bool shard_counts(const struct program *p,
                         const struct program_option *o)
{
    const char *at = (const char *)p + o->at, *group = o->group;

    if (o->at >= offsetof(struct program, shard)
        && o->at <= offsetof(struct program, resume))
        return false;
    for (const struct program_option *k = program_option; k < o; k++)
        if (k->at == o->at) /* another name of the same option */
            return false;
    if (strcmp(o->name, "--seed") != 0 && strcmp(group, "Lines") != 0
        && strcmp(group, "Search") != 0 && strcmp(group, "Sampling") != 0)
        return false;
    switch (o->kind) {
    case OPTION_WHOLE: return *(const int64_t *)at != (int64_t)o->default_value;
    case OPTION_REAL:  return *(const float *)at != (float)o->default_value;
    case OPTION_TEXT:  return *(const char *const *)at != NULL;
    case OPTION_LIST:  return ((const struct program_list *)at)->n > 0;
    default:           return *(const bool *)at;
    }
}

static void shard_print_name(FILE *to, const char *name)
{
    fprintf(to, "%s%s", ftell(to) > 0 ? " " : "", name);
}

/* Prints a text without control characters, so that a record has one line for
 * it. */
static void shard_print_text(FILE *to, const char *text)
{
    fputc('=', to);
    for (; *text; text++)
        fprintf(to,
                *text > ' ' && *text <= '~' && *text != '\\' ? "%c" : "\\x%02x",
                (unsigned char)*text);
}

static void shard_print_option(FILE *to, const struct program *p,
                               const struct program_option *o)
{
    const char *at = (const char *)p + o->at;
    const struct program_list *list = (const struct program_list *)at;

    if (o->kind == OPTION_LIST) {
        for (int64_t i = 0; i < list->n; i++) {
            shard_print_name(to, o->name);
            shard_print_text(to, list->at[i]);
        }
        return;
    }
    shard_print_name(to, o->name);
    if (o->kind == OPTION_WHOLE)
        fprintf(to, "=%lld", (long long)*(const int64_t *)at);
    else if (o->kind == OPTION_REAL)
        fprintf(to, "=%.9g", (double)*(const float *)at);
    else if (o->kind == OPTION_TEXT)
        shard_print_text(to, *(const char *const *)at);
}

/* Sets the options that change answers, in the order of their table. */
static bool shard_settings(struct program *p, struct shard_files *s)
{
    size_t bytes;
    FILE *f = open_memstream(&s->options, &bytes);

    for (int i = 0; f && i < PROGRAM_OPTIONS; i++)
        if (shard_counts(p, &program_option[i]))
            shard_print_option(f, p, &program_option[i]);
    if (!f || fclose(f) != 0)
        program_fail(p, 5, "out of memory");
    s->r.options = s->options;
    return p->status == 0;
}

static uint64_t shard_vocabulary(const struct attn_side *side, uint64_t seed)
{
    (void)side;
    return seed;
}

/* Hashes what answers depend on: the spec, its constant lengths, the weights
 * and the vocabularies. */
static uint64_t shard_hash(const struct program *p)
{
    const struct attn_model *m = p->m;
    const int64_t fixed[] = { m->fixed_source, m->fixed_target, m->fixed_keys,
                              m->fixed_batch };
    uint64_t h = attn_hash(&m->spec_hash, sizeof m->spec_hash, 1);

    h = attn_hash(fixed, sizeof fixed, h);
    if (m->weights_bytes > 0)
        h = attn_hash(p->packed, m->weights_bytes, h);
    h = shard_vocabulary(&p->source, h);
    return shard_vocabulary(&p->target, h);
}

/* ---- files ---- */

/* Opens the record, and locks it as long as this process lives. */
static bool shard_open_record(struct program *p, struct shard_files *s)
{
    struct flock lock;

    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    s->record = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (s->record < 0)
        return shard_wrong(p, s->path, "open");
    if (fcntl(s->record, F_SETLK, &lock) == 0)
        return true;
    program_fail(p, 4, "%s: another process answers this shard", s->path);
    return false;
}

/* Reads by the descriptor that is locked: to close another one of the same file
 * would unlock it. */
static bool shard_take_record(struct program *p, struct shard_files *s)
{
    struct stat st;
    ssize_t n = 1;

    s->n = 0;
    if (fstat(s->record, &st) != 0)
        return shard_wrong(p, s->path, "read");
    s->text = malloc((size_t)st.st_size + 1);
    if (!s->text) {
        program_fail(p, 5, "out of memory");
        return false;
    }
    for (; n > 0 && s->n < st.st_size; s->n += n)
        n = read(s->record, s->text + s->n, (size_t)(st.st_size - s->n));
    return n >= 0 || shard_wrong(p, s->path, "read");
}

/* Begins the shard anew. */
static bool shard_begin(struct program *p, struct shard_files *s)
{
    s->answers = open(s->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (s->answers < 0)
        return shard_wrong(p, s->part, "open");
    return (ftruncate(s->record, 0) == 0 && lseek(s->record, 0, SEEK_SET) == 0
            && dprintf(s->record,
                       "attnc shard 1\nshard %lld/%lld\nmodel %016llx\n"
                       "options %s\ncolumns %lld\n",
                       (long long)s->r.which + 1, (long long)s->r.shards,
                       (unsigned long long)s->r.model, s->options,
                       (long long)s->r.columns)
                   >= 0)
        || shard_wrong(p, s->path, "write");
}

static bool shard_same_run(struct program *p, const struct shard_files *s,
                           const struct attn_shard *before)
{
    if (s->r.model != before->model)
        program_fail(p, 3,
                     "%s: the shard was begun with another model, other "
                     "weights or another vocabulary",
                     s->path);
    else if (strcmp(s->options, before->options) != 0
             || s->r.columns != before->columns)
        program_fail(p, 3,
                     "%s: the shard was begun with the options '%s%s', not "
                     "'%s%s'",
                     s->path, before->options,
                     before->columns ? " --format=npy" : "", s->options,
                     s->r.columns ? " --format=npy" : "");
    else if (s->r.which != before->which || s->r.shards != before->shards)
        program_fail(p, 3, "%s: this is the record of shard %lld/%lld", s->path,
                     (long long)before->which + 1, (long long)before->shards);
    return p->status == 0;
}

/* Goes on behind the last complete block. */
static bool shard_go_on(struct program *p, struct shard_files *s)
{
    struct attn_shard before;
    struct stat st;

    if (!attn_shard_read(&before, s->text, s->n, NULL, p->why)) {
        program_fail(p, 3, "%s%s", s->path, p->why);
        return false;
    }
    if (!shard_same_run(p, s, &before))
        return false;
    s->r = before;
    const char *path = before.complete && access(s->part, F_OK) != 0 ? s->output
                                                                     : s->part;
    s->answers = open(path, O_RDWR | O_CLOEXEC);
    const bool missing = s->answers < 0 && errno == ENOENT;
    if (!missing && (s->answers < 0 || fstat(s->answers, &st) != 0))
        return shard_wrong(p, path, "open");
    if (missing || st.st_size < before.end) {
        program_fail(p, 3,
                     "%s: the file is %s: leave out --resume to answer the "
                     "shard anew",
                     path,
                     missing ? "missing" : "shorter than its record says");
        return false;
    }
    if (ftruncate(s->answers, before.end) != 0
        || lseek(s->answers, before.end, SEEK_SET) != before.end)
        return shard_wrong(p, path, "write");
    return (ftruncate(s->record, before.bytes) == 0
            && lseek(s->record, 0, SEEK_END) >= 0)
        || shard_wrong(p, s->path, "write");
}

static bool shard_open_files(struct program *p, struct shard_files *s)
{
    int64_t lines = 0;

    if (!shard_open_record(p, s) || !shard_take_record(p, s))
        return false;
    for (int64_t i = 0; i < s->n; i++)
        lines += s->text[i] == '\n';
    /* The head is one write: with a part of it, nothing has been answered. */
    return p->resume && lines >= ATTN_SHARD_HEAD ? shard_go_on(p, s)
                                                 : shard_begin(p, s);
}

/* Returns OUTPUT.I-of-N and the suffix. */
static char *shard_path(struct program *p, const char *suffix)
{
    char *path = NULL;

    if (asprintf(&path, "%s.%lld-of-%lld%s", p->output,
                 (long long)p->own.r.which + 1, (long long)p->own.r.shards,
                 suffix)
        < 0) {
        program_fail(p, 5, "out of memory");
        return NULL;
    }
    return path;
}

/* Opens the files of --shard, in which stdout then is. */
ATTN_API void shard_start(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!p->shard)
        return;
    s->answers = -1;
    s->record = -1;
    s->per = p->m->kind == ATTN_ATTENTION ? 3 : 1;
    s->output = shard_path(p, "");
    s->part = shard_path(p, ".part");
    s->path = shard_path(p, ".shard");
    if (!s->output || !s->part || !s->path || !shard_settings(p, s))
        return;
    s->r.model = shard_hash(p);
    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail with EFBIG */
    if (shard_open_files(p, s) && dup2(s->answers, STDOUT_FILENO) < 0)
        shard_wrong(p, s->part, "write");
}

ATTN_API void shard_stop(struct program *p)
{
    struct shard_files *s = &p->own;

    if (s->per == 0) /* not opened */
        return;
    close(s->answers);
    close(s->record);
    free(s->output);
    free(s->part);
    free(s->path);
    free(s->options);
    free(s->text);
}

/* ---- lines ---- */

/* Returns the last block of the shard that is answered. */
static int64_t shard_last(const struct shard_files *s)
{
    return s->r.which + (s->r.blocks - 1) * s->r.shards;
}

/* The status alone would let the program go on, as after an invalid line. */
static void shard_fail(struct program *p, const char *was)
{
    p->own.failed = true;
    program_fail(p, 3, "%s: the shard was %s another input", p->own.path, was);
}

/* Called after the lines of the last block that was answered before. */
static void shard_same_input(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!s->checked && s->input != s->r.input && !s->r.complete)
        shard_fail(p, "begun with");
    s->checked = true;
}

/* Called for each line. Returns true if the line belongs to another shard, or
 * was answered before. is_long: only its length is known. */
ATTN_API bool shard_skips(struct program *p, const char *line, int64_t bytes,
                          bool is_long)
{
    struct shard_files *s = &p->own;
    const bool blocks = p->m->input_width > 0;

    if (!p->shard || s->failed)
        return s->failed;
    s->input = is_long ? attn_hash(&bytes, sizeof bytes, s->input)
                       : attn_hash(line, bytes, s->input + 1);
    const int64_t block = p->ended / s->per / ATTN_SHARD_BLOCK;
    const bool first = s->per > 1 ? p->ended % s->per == 0 : p->ended == 0;
    const bool counts = !blocks || bytes > 0 || !first || s->rows > 0;
    if (block % s->r.shards == s->r.which
        && block / s->r.shards >= s->r.blocks) {
        /* The answers of a complete shard are final: nothing may follow. */
        if (s->r.complete && counts)
            shard_fail(p, "complete, for");
        return s->failed;
    }
    if (blocks && bytes > 0) {
        s->rows++;
    } else if (counts) {
        s->rows = 0;
        p->ended++;
        if (s->r.blocks > 0
            && p->ended == s->per * ATTN_SHARD_BLOCK * (shard_last(s) + 1))
            shard_same_input(p);
    }
    return true;
}

/* True if a block ends after the parts so far. */
ATTN_API bool shard_block_ends(const struct program *p)
{
    return p->shard && p->ended % (p->own.per * ATTN_SHARD_BLOCK) == 0;
}

static void shard_keep(struct program *p)
{
    struct shard_files *s = &p->own;
    const int64_t end = lseek(s->answers, 0, SEEK_CUR);

    if (end < 0)
        shard_wrong(p, s->part, "write");
    else if (dprintf(s->record, "block %lld %lld %d %016llx\n",
                     (long long)(shard_last(s) + s->r.shards), (long long)end,
                     s->r.errors || p->status, (unsigned long long)s->input)
             < 0)
        shard_wrong(p, s->path, "write");
    else {
        s->r.blocks++;
        s->checked = true;
    }
}

/* Called after a batch, when its answers are flushed. */
ATTN_API void shard_answered(struct program *p)
{
    if (p->parts > 0 && p->status <= 3 && shard_block_ends(p))
        shard_keep(p);
}

/* Compares the input with that of the record. Returns false if it is another
 * one, after a message. */
static bool shard_check_end(struct program *p, int64_t questions)
{
    struct shard_files *s = &p->own;
    const int64_t blocks = (questions + ATTN_SHARD_BLOCK - 1)
                         / ATTN_SHARD_BLOCK;
    const int64_t n = s->r.shards, own = (blocks - s->r.which + n - 1) / n;

    if (s->r.blocks < own)
        shard_keep(p);
    else if (s->r.blocks > own && !s->r.complete)
        shard_fail(p, "begun with");
    else if (s->r.blocks > 0 && shard_last(s) == blocks - 1)
        shard_same_input(p); /* the input ends within that block */
    if (s->r.complete
        && (s->r.questions != questions || s->r.input != s->input))
        shard_fail(p, "complete, for");
    return !s->failed && p->status <= 3;
}

/* Writes the number of rows to the head of a .npy file, and the answers to the
 * disk. */
static bool shard_finish(struct program *p, struct shard_files *s)
{
    return fsync(s->answers) == 0 || shard_wrong(p, s->part, "write");
}

/* Called after the last batch: completes the record, and renames the file. */
ATTN_API void shard_end(struct program *p)
{
    struct shard_files *s = &p->own;

    if (!p->shard || s->failed || p->status > 3)
        return;
    if (s->rows > 0) /* the input ends without the last empty line */
        p->ended++;
    const int64_t questions = (p->ended + s->per - 1) / s->per;
    if (!shard_check_end(p, questions))
        return;
    if (s->r.errors)
        p->status = 3;
    if (!s->r.complete) {
        if (!shard_finish(p, s))
            return;
        if (dprintf(s->record, "end %lld %016llx\n", (long long)questions,
                    (unsigned long long)s->input)
            < 0)
            shard_wrong(p, s->path, "write");
    }
    if (p->status <= 3 && access(s->part, F_OK) == 0
        && rename(s->part, s->output) != 0)
        shard_wrong(p, s->part, "rename");
}

/* program.c: functions that all parts of the program share. */

/* Sets p->why to a message. Returns -1. */
static int64_t program_wrong(struct program *p, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(p->why, sizeof p->why, fmt, ap);
    va_end(ap);
    return -1;
}

/* Flushes `to`. If an earlier write failed, errno may have been changed by
 * another call, so writes one more byte, which sets errno to the reason. */
static void program_flush(struct program *p, FILE *to)
{
    const int lost = ferror(to);

    errno = EIO; /* the reason, if that byte can be written */
    if (lost) {
        clearerr(to);
        fputc('\n', to);
    }
    if (fflush(to) != 0 || lost)
        program_fail(p, 4, "cannot write to stdout: %s", strerror(errno));
}

/* Grows the memory to at least `bytes`. If there is not enough, prints a
 * message and returns NULL. */
static void *program_grow(struct program *p, struct room *r, int64_t bytes)
{
    const int64_t more = bytes + bytes / 4 + 1;

    if (r->at && bytes >= 0 && bytes <= r->bytes)
        return r->at;
    void *at = bytes < 0 ? NULL : realloc(r->at, (size_t)more);
    if (!at) {
        program_fail(p, 5, "out of memory: give fewer or shorter lines");
        return NULL;
    }
    r->at = at;
    r->bytes = more;
    return at;
}

/* Frees all memory of the program, except the model's. */
static void program_free(struct program *p)
{
    shard_stop(p);
    free(p->items.at);
    free(p->types.at);
    free(p->work.at);
    free(p->text.at);
    free(p->found.at);
    free(p->prefix.at);
    free(p->suppressed.at);
    free(p->grammar.at);
    free(p->turn.at);
    free(p->frame.at);
    free(p->in.buffer);
}

/* program_file.c: maps the files that the program reads: the weights and a
 * saved state. If one is truncated while in use, the program reports that and
 * exits with status 4. */

/* state of the signal handler, set before a file is used */
static struct {
    const char *name; /* name of the program, argv[0] */
    const char *path, *at;
    int64_t bytes;
    dev_t device;
    ino_t inode;
} program_files[PROGRAM_FILES];

static void file_print(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; /* stderr is closed */
}

/* Reports a bus error in a mapped file, with async-signal-safe calls only. Any
 * other bus error gets the default action. */
static void file_vanished(int sig, siginfo_t *info, void *context)
{
    const uintptr_t at = (uintptr_t)info->si_addr;

    (void)context;
    for (int i = 0; i < PROGRAM_FILES; i++) {
        const uintptr_t from = (uintptr_t)program_files[i].at;
        if (from > at || at - from >= (uintptr_t)program_files[i].bytes)
            continue;
        file_print(program_files[i].name);
        file_print(": error: ");
        file_print(program_files[i].path);
        file_print(": the file was cut while it was in use\n");
        _exit(4);
    }
    signal(sig, SIG_DFL);
}

static void file_watch(const struct program *p, const char *path,
                       const char *at, const struct stat *st)
{
    struct sigaction act;
    int i = 0;

    while (program_files[i].at) /* ends: the table has a place for each file */
        i++;
    program_files[i].name = p->name;
    program_files[i].path = path;
    program_files[i].bytes = (int64_t)st->st_size;
    program_files[i].device = st->st_dev;
    program_files[i].inode = st->st_ino;
    program_files[i].at = at;
    memset(&act, 0, sizeof act);
    act.sa_sigaction = file_vanished;
    act.sa_flags = SA_SIGINFO;
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, NULL);
}

static const char *program_map(struct program *p, const char *path,
                               int64_t *bytes)
{
    static _Alignas(64) const char nothing[64]; /* contents of empty files */
    const char *file = nothing;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *bytes = 0;
    if (fd < 0 || fstat(fd, &st) != 0) {
        program_fail(p, 4, "%s: cannot open: %s", path, strerror(errno));
        return file;
    }
    if (!S_ISREG(st.st_mode))
        program_fail(p, 4,
                     S_ISDIR(st.st_mode) ? "%s: is a folder, not a file"
                                         : "%s: is not a regular file",
                     path);
    else if (st.st_size > 0) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
                        0);
        if (at == MAP_FAILED)
            program_fail(p, 5, "%s: %s", path, strerror(errno));
        else {
            file = at;
            *bytes = (int64_t)st.st_size;
            file_watch(p, path, file, &st);
        }
    }
    close(fd);
    return file;
}

static void program_weights(struct program *p)
{
    struct attn_packed_header h;
    const char *wrong;

    if (!program_grow(p, &p->bound, p->m->bound_bytes))
        return;
    wrong = p->unchecked ? bind_file_lazily(p->bound.at, p->file, p->bytes)
                         : bind_file(p->bound.at, p->file, p->bytes);
    if (wrong) {
        program_fail(p, 3, "%s: %s", p->path ? p->path : p->m->name, wrong);
        return;
    }
    if (p->m->amx_allowed && !p->m->amx_allowed() && !p->quiet)
        program_warn(p, "this processor or its system does not allow AMX: "
                        "products take longer, with the same bits");
    memcpy(&h, p->file, sizeof h);
    p->source.size = p->m->source_vocab;
    p->target.size = p->m->target_vocab;
    if (p->m->kind == ATTN_DECODER)
        p->source = p->target; /* a decoder continues its input */
    p->packed = p->file + h.weights_at;
    if (h.random > 0 && !p->quiet)
        fprintf(stderr, "%s: weights are random (seed %llu)\n", p->name,
                (unsigned long long)(h.random - 1));
}

/* program_lines.c: reads lines from stdin and converts them to tokens. */

/* ---- tokens ---- */

/* Returns an upper bound of the number of tokens in a text of `bytes` bytes. */
static int64_t program_most(const struct program *p, const struct attn_side *s,
                            int64_t bytes)
{
    (void)p;
    (void)s;
    return bytes + 2;
}

/* Converts a text to tokens in ids[program_most()]. Returns their number, or
 * -1. `place` is TOKENS_LINE etc. */
static int64_t program_tokens(struct program *p, const struct attn_side *s,
                              int place, const char *text, int64_t bytes,
                              int32_t *ids)
{
    (void)place;
    return attn_line_ids(s, text, bytes, ids, p->why);
}

/* ---- lines ---- */

/* Reads the next line, like attn_next_line(). If the result is LINE_LONG, sets
 * p->why. */
static int program_line(struct program *p, int wait, const char **text,
                        int64_t *n)
{
    const int state = attn_next_line(&p->in, wait, text, n);

    if (p->in.error != 0)
        program_fail(p, 4, "cannot read stdin: %s", strerror(p->in.error));
    if (state == LINE_LONG)
        program_wrong(p, "the line has %lld bytes, at most %d are read",
                      (long long)*n, ATTN_LINE);
    return state;
}

/* Rejects a start by mpirun -n N: the processes would read the same stdin, or
 * all but one wait for a stdin that MPICH leaves open. A file as stdin was
 * given to this process alone, because mpirun forwards its own by a pipe. Rank
 * 0 prints the message; the others read nothing and succeed, because after an
 * error mpirun could end rank 0 before it prints. */
static void program_check_alone(struct program *p)
{
    struct stat st;
    int64_t rank, ranks;

    if (p->shard || p->m->fixed_ranks > 1 || !attn_mpi_place(&rank, &ranks)
        || ranks == 1 || (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)))
        return;
    p->in.over = true;
    if (rank == 0)
        program_fail(p, 2,
                     "mpirun started %lld processes of a program for one: give "
                     "--shard=mpi -o FILE, or compile it with --ranks=%lld",
                     (long long)ranks, (long long)ranks);
}

static void program_open_lines(struct program *p)
{
    program_check_alone(p);
    p->in.ending = '\n';
    p->in.buffer = malloc(ATTN_LINE + 1);
    if (!p->in.buffer)
        program_fail(p, 5, "out of memory");
}

/* program_grammar.c: --grammar. Answers follow a grammar in a file, or that of
 * compile --grammar. */

/* Sets the processor of --grammar. */
static void program_grammar(struct program *p, struct attn_search_options *o)
{
    const char *path = p->set.grammar;

    if (p->status != 0)
        return;
    (void)o;
    if (!path)
        return;
    program_fail(p, 2,
                 "--grammar: this model has no vocabulary: a grammar is about "
                 "the text of tokens");
}

/* program_generate.c: the search for answers, whose settings come from the spec
 * and the options; lines as questions, and their answers. */

static struct { /* static, because only files for generation need it */
    struct attn_search_options o;
    int64_t answered, fewer; /* number of lines answered; of those with fewer
                              * than --nbest answers */
} search;

/* Returns the use that the options select, one of ATTN_FOR_LINES etc. If they
 * cannot be combined, prints a message and sets p->status. */
static int program_use(struct program *p)
{
    const int prompt = p->prompt || p->load_state;
    const int use = p->score ? ATTN_FOR_SCORE
                  : p->chat  ? ATTN_FOR_CHAT
                  : prompt   ? ATTN_FOR_PROMPT
                             : ATTN_FOR_LINES;
    const char *wrong = attn_settings_wrong(&p->set, use);

    if (p->chat && p->prompt)
        program_fail(p, 2, "--chat reads turns from stdin: leave out --prompt");
    else if (wrong)
        program_fail(p, 2, "%s", wrong);
    return use;
}

/* ---- options ---- */

/* Appends the tokens of an option's text to r, which has n tokens. Returns the
 * number of appended tokens, or prints a message and returns 0. */
static int64_t option_tokens(struct program *p, const char *option,
                             const char *text, struct room *r, int64_t n)
{
    const int64_t bytes = (int64_t)strlen(text);
    char quoted[ATTN_QUOTED];
    const int64_t most = program_most(p, &p->target, bytes);
    int32_t *ids = program_grow(p, r, (n + most) * 4);

    if (!ids)
        return 0;
    const int64_t found = program_tokens(p, &p->target, TOKENS_PLAIN, text,
                                         bytes, ids + n);
    if (found >= 0 || p->status != 0)
        return attn_max(found, 0);
    attn_quote(text, bytes, quoted);
    program_fail(p, 2, "%s '%s': %s", option, quoted, p->why);
    return 0;
}

/* Lists the suppressed sequences, each preceded by its length: those of the
 * spec, then those of --suppress. */
static void program_suppress(struct program *p)
{
    int64_t n = search.o.process.suppress_size;

    if (p->suppress.n == 0)
        return;
    if (program_grow(p, &p->suppressed, (n + 1) * 4) && n > 0)
        memcpy(p->suppressed.at, search.o.process.suppress, (size_t)n * 4);
    for (int64_t i = 0; i < p->suppress.n && p->status == 0; i++) {
        const int64_t found = option_tokens(p, "--suppress", p->suppress.at[i],
                                            &p->suppressed, n + 1);
        int32_t *ids = p->suppressed.at;
        if (found == 0)
            continue;
        ids[n] = (int32_t)found;
        n += found + 1;
    }
    search.o.process.suppress = p->suppressed.at;
    search.o.process.suppress_size = n;
}

/* Called before the first line is read. */
static void program_prepare(struct program *p)
{
    options_of_spec(&search.o);
    attn_settings_apply(&p->set, spec_states_beam, p->seed, &search.o);
    search.o.parallel = p->parallel;
    const char *wrong = search.o.draft ? attn_draft_wrong(p->m) : NULL;
    if (wrong)
        program_fail(p, 2, "--draft: %s", wrong);
    program_suppress(p);
    if (p->set.prefix && p->status == 0) {
        search.o.prefix_n = option_tokens(p, "--prefix", p->set.prefix,
                                          &p->prefix, 0);
        search.o.prefix = p->prefix.at;
    }
    program_grammar(p, &search.o);
    if (p->status == 0 && search.o.end >= p->m->target_vocab)
        program_fail(p, 2, "--end-token %d: the target has %lld tokens",
                     (int)search.o.end, (long long)p->m->target_vocab);
}

/* ---- lines ---- */

/* Converts a line to ids, which are appended to the batch at `ids`. Returns
 * their number, or -1. */
static int64_t program_question(struct program *p, const char *line,
                                int64_t bytes, int32_t *ids)
{
    return program_tokens(p, &p->source, TOKENS_LINE, line, bytes, ids);
}

/* Checks that the model has room for the rows of a part and an answer. Returns
 * the number of rows to keep, or -1 with p->why. */
static int64_t program_part(struct program *p, int64_t rows)
{
    const struct attn_search_options *o = &search.o;
    const int64_t cut = o->max_input > 0 ? attn_min(rows, o->max_input) : rows;
    const int64_t most = attn_search_source(p->m);
    const int64_t lead = attn_search_lead(p->m, o, cut);
    const int64_t answer = attn_max(search.o.prefix_n, 1);

    if (!attn_search_asks(p->m, o, rows))
        return rows;
    if (cut > most || lead > p->m->max_target)
        return program_wrong(
            p,
            "the %s has %lld %s, the model takes %lld "
            "(max_len%s); --max-input=N cuts it",
            p->m->input_width > 0 ? "block" : "line", (long long)rows,
            p->m->input_width > 0 ? "rows" : "tokens", (long long)most,
            p->m->class_token ? ", which counts the class token" : "");
    if (attn_search_limit(p->m, o, cut, lead) < answer)
        return program_wrong(p,
                             "no room is left for an answer of %lld tokens to "
                             "a line of %lld",
                             (long long)answer, (long long)rows);
    return rows;
}

static void print_answer(struct program *p, const struct attn_hypothesis *h,
                         FILE *to)
{
    (void)p;
    for (int64_t i = 0; i < h->n; i++)
        fprintf(to, i > 0 ? " %d" : "%d", (int)h->tokens[i]);
}

/* Prints the `found` answers to part i. */
static void print_answers(struct program *p, int64_t i,
                          const struct attn_hypothesis *h, int64_t found)
{
    if (found < 0) {
        program_wrong(p, "%s", attn_error_text(found));
        program_refuse(p, p->last[i]);
    }
    for (int64_t k = 0; k < found; k++) {
        if (p->set.nbest > 0 || p->set.unordered)
            printf("%lld\t", (long long)p->last[i]);
        if (p->set.scores)
            printf("%.7g\t", (double)h[k].score);
        print_answer(p, &h[k], stdout);
        putchar('\n');
    }
    if (found <= 0 && p->set.nbest <= 0)
        putchar('\n');
}

/* Called after the last line. */
static void program_finish(struct program *p)
{
    if (search.fewer > 0 && p->status <= 3)
        program_warn(p,
                     "--nbest %lld: fewer answers to %lld of %lld lines: a "
                     "beam of %lld found no more, a wider --beam may",
                     (long long)search.o.results, (long long)search.fewer,
                     (long long)search.answered, (long long)search.o.beam);
}

/* program_parts.c: collects lines into parts. */

static int64_t read_numbers(struct program *p, const char *line, int64_t bytes,
                            float *x)
{
    char text[512], *next; /* the text of one number, and the byte after it */
    int64_t n = 0, at = 0;

    while (at < bytes) {
        const int64_t size = attn_min(bytes - at, (int64_t)sizeof text - 1);
        memcpy(text, line + at, (size_t)size);
        text[size] = '\0';
        const int64_t spaces = (int64_t)strspn(text, " \t\r");
        if (spaces > 0) {
            at += spaces;
            continue;
        }
        x[n] = strtof(text, &next);
        if (next == text || next == text + sizeof text - 1
            || !attn_number_ends(next, text + size))
            return program_wrong(p, "byte %lld: a number is expected",
                                 (long long)at + 1);
        n++;
        at += next - text;
    }
    if (n == p->width)
        return n;
    return program_wrong(p, "a row has %lld numbers, this line has %lld",
                         (long long)p->width, (long long)n);
}

static void program_end_part(struct program *p)
{
    const int64_t first = p->start[p->parts], kept = p->n / p->width - first;
    int64_t rows = attn_min(program_part(p, kept + p->beyond), kept);

    if (rows < 0 && !p->refused) {
        program_refuse(p, p->in.number);
        p->refused = 1;
    }
    if (p->refused)
        rows = 0;
    p->bad[p->parts] = p->refused;
    p->last[p->parts] = p->in.number;
    if (p->m->kind != ATTN_ATTENTION)
        p->refused = 0;
    p->n = (first + rows) * p->width;
    p->beyond = 0;
    p->parts++;
    p->ended++;
    p->start[p->parts] = (int32_t)(first + rows);
}

/* True if the part being read has the maximum number of rows. */
static int part_full(const struct program *p)
{
    return p->n / p->width - p->start[p->parts]
        >= attn_max(p->m->max_source, p->m->max_target);
}

static void program_take(struct program *p, const char *line, int64_t bytes,
                         int is_long)
{
    const int blocks = p->m->input_width > 0;
    const int64_t before = p->m->kind == ATTN_ATTENTION ? p->parts : p->ended;
    int64_t n = 0;

    if (shard_skips(p, line, bytes, is_long))
        return;
    if (blocks && bytes == 0 && before == 0 && p->n == 0 && !p->refused)
        return; /* skip empty lines before the first block */
    const int64_t taken = attn_min(bytes, ATTN_LINE);
    const int64_t most = p->more
                       + attn_max(program_most(p, &p->source, taken),
                                  taken + 2);
    char *items = program_grow(p, &p->items, (p->n + most) * 4);
    if (!items)
        return;
    void *at = items + p->n * 4;
    if (is_long)
        n = -1;
    else if (blocks && bytes > 0)
        n = read_numbers(p, line, bytes, at);
    else if (bytes > 0)
        n = program_question(p, line, bytes, at);
    if (n < 0) {
        program_refuse(p, p->in.number);
        p->refused = 1;
    } else if (blocks && n > 0 && part_full(p))
        p->beyond++;
    else
        p->n += n;
    if (!blocks || bytes == 0)
        program_end_part(p);
}

/* Reads up to `most` parts. `wait`: waits for the first. Returns 0 if there is
 * none. */
static int program_read(struct program *p, int64_t most, int wait)
{
    const char *text = NULL;
    int64_t n = 0;
    int state = LINE_READ;

    p->n = 0;
    p->parts = 0;
    p->refused = 0;
    p->start[0] = 0;
    while (p->parts < most && p->status <= 3) {
        const int open = p->refused || p->n > p->start[p->parts] * p->width;
        if (most != 3 && !open && p->n >= PROGRAM_ROWS * p->width)
            break;
        if (p->parts > 0 && shard_block_ends(p))
            break;
        state = program_line(p, (wait && p->parts == 0) || open || most == 3,
                             &text, &n);
        if (state == LINE_WAIT || state == LINE_END)
            break;
        program_take(p, text, n, state == LINE_LONG);
    }
    if (state == LINE_END
        && (p->refused || p->n > p->start[p->parts] * p->width))
        program_end_part(p);
    return p->parts > 0 && p->status <= 3;
}

/* program_queue.c: answers lines, or blocks of lines, by a queue
 * (runtime/search/queue.h): a line takes the place of one whose answer has
 * ended. Answers are printed in the order of the lines, unless --unordered is
 * given. */

enum {
    QUEUE_LINES = 1024
}; /* maximum lines read whose answer is not printed */

struct queue_line {   /* a part that was read */
    int64_t number;   /* of its last line */
    int bad, done;    /* rejected, with the message in `kept`; answered */
    int64_t found;    /* answers, or an error */
    struct room kept; /* [found] answers, then their tokens */
};

static struct {
    struct attn_queue q;
    struct attn_queue_size size;
    struct room memory;  /* of the queue; p->work is the tokenizer's, too */
    int64_t first, next; /* the first line that is not printed, and the next to
                          * be read; line i is line[i % QUEUE_LINES] */
    int64_t line_of[2048]; /* of each place */
    int pending;           /* the last line waits until the queue takes it */
    struct queue_line line[QUEUE_LINES];
} queue;

static struct queue_line *queue_line(int64_t i)
{
    return &queue.line[i % QUEUE_LINES];
}

/* ---- memory ---- */

/* Returns the bytes that `mib` MiB are, by default this part of the machine's
 * memory. */
static int64_t queue_bytes(int64_t mib, int64_t part)
{
    return mib < 0 ? sysconf(_SC_PHYS_PAGES) / part * sysconf(_SC_PAGESIZE)
                   : mib << 20;
}

/* Returns how often `pages` pages of a cache fit into so many bytes. */
static int64_t queue_fits(const struct program *p, int64_t which, int64_t pages,
                          int64_t bytes)
{
    const int64_t page = attn_cache_page_bytes(p->m, which);
    return attn_min(bytes / attn_max(page * pages, 1), INT32_MAX);
}

/* Limits the places and the pages of answers to those in --memory, of which an
 * encoder's rows get half; by default to no fewer than any line needs. */
static void queue_limit(const struct program *p, struct attn_queue_size *n)
{
    const int encodes = p->m->kind == ATTN_ENCODER_DECODER;
    const int64_t bytes = queue_bytes(p->set.memory, 2) / (1 + encodes);
    const int64_t one = attn_cache_pages(p->m->max_target) * search.o.beam;
    const int64_t source = attn_cache_pages(p->m->max_source);
    const int64_t least = p->set.memory < 0 ? one : 1;

    if (encodes)
        n->places = attn_max(attn_min(n->places,
                                      queue_fits(p, ATTN_CROSS, source, bytes)),
                             1);
    n->seats = attn_min(n->seats, n->places);
    n->pages = attn_min(attn_max(queue_fits(p, ATTN_SELF, 1, bytes), least),
                        n->seats * one);
}

static int64_t queue_seats(const struct program *p)
{
    return p->set.batch;
}

static void queue_start(struct program *p)
{
    const int64_t seats = queue_seats(p);

    queue.size = (struct attn_queue_size){
        .seats = seats,
        .places = p->m->kind == ATTN_ENCODER_DECODER ? 2 * seats : seats,
        .longest = attn_search_source(p->m),
        .call = p->set.prompt_rows,
    };
    /* ranks need the same limits, whatever memory their machines have */
    if (p->set.memory >= 0 || p->m->fixed_ranks < 2)
        queue_limit(p, &queue.size);
    if (p->set.prefix_cache >= 0 || p->m->fixed_ranks < 2)
        queue.size.prefix_pages = queue_fits(p, ATTN_SELF, 1,
                                             queue_bytes(p->set.prefix_cache,
                                                         16));
    const int64_t bytes = attn_queue_bytes(p->m, &search.o, &queue.size);
    const struct attn_queue_request r = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .size = queue.size,
        .bytes = bytes,
        .memory = program_grow(p, &queue.memory, bytes),
    };
    if (p->status == 0 && attn_queue_open(&queue.q, &r) != 0)
        program_fail(p, 70, "internal error: the search failed");
}

/* ---- lines ---- */

/* Copies the answers of a place to its line. */
static void queue_keep(struct program *p, int64_t place)
{
    const struct attn_beam *b = &queue.q.place[place].beam;
    struct queue_line *line = queue_line(queue.line_of[place]);
    const int64_t head = b->found * (int64_t)sizeof *b->best;
    int64_t tokens = 0, at = 0;

    for (int64_t i = 0; i < b->found; i++)
        tokens += b->best[i].n;
    line->done = 1;
    line->found = b->found;
    if (b->found <= 0 || !program_grow(p, &line->kept, head + tokens * 4))
        return;
    struct attn_hypothesis *h = line->kept.at;
    int32_t *ids = (int32_t *)(h + b->found);
    for (int64_t i = 0; i < b->found; i++) {
        h[i] = b->best[i];
        h[i].tokens = ids + at;
        memcpy(ids + at, b->best[i].tokens, (size_t)b->best[i].n * 4);
        at += b->best[i].n;
    }
}

/* Makes a line one that has no answers, because of p->why. */
static void queue_reject(struct program *p, struct queue_line *line)
{
    const int64_t bytes = (int64_t)strlen(p->why) + 1;

    line->bad = 1;
    line->done = 1;
    if (program_grow(p, &line->kept, bytes))
        memcpy(line->kept.at, p->why, (size_t)bytes);
}

/* Adds the part that was read to the queue. Returns 0 if it has to wait. */
static int queue_ask(struct program *p, struct queue_line *line)
{
    const char *items = p->items.at;
    const struct attn_queue_source s = {
        .ids = p->m->input_width > 0 ? NULL : (const void *)items,
        .input = p->m->input_width > 0 ? (const void *)items : NULL,
        .rows = p->start[1],
    };
    if (!attn_queue_takes(&queue.q, attn_min(s.rows, queue.q.size.longest)))
        return 0;
    const int64_t place = attn_queue_add(&queue.q, &s);
    if (place >= 0) {
        queue.line_of[place] = queue.next - 1;
    } else if (place == ATTN_ERROR_ROOM) {
        program_wrong(p,
                      "the keys and values of this line and its answer may "
                      "need more memory than --memory=%lld: give more, or "
                      "limit the answer by --max-output=N",
                      (long long)p->set.memory);
        program_refuse(p, line->number);
        queue_reject(p, line);
    } else {
        program_fail(p, 70, "internal error: the search failed");
    }
    return 1;
}

/* Takes the part that was read as a line. */
static void queue_take_line(struct program *p)
{
    struct queue_line *line = queue_line(queue.next);

    queue.next++;
    line->number = p->last[0];
    line->bad = 0;
    line->done = 0;
    line->found = 0;
    if (p->bad[0])
        queue_reject(p, line);
    else
        queue.pending = !queue_ask(p, line);
}

/* Reads lines while there is room, up to the end of a block of --shard. Waits
 * for input only if no line is left to answer. Returns 0 at its end. */
static int queue_read(struct program *p)
{
    if (queue.pending)
        queue.pending = !queue_ask(p, queue_line(queue.next - 1));
    while (!queue.pending && queue.next - queue.first < QUEUE_LINES
           && p->status <= 3) {
        const int idle = queue.next == queue.first;
        if (!idle && shard_block_ends(p))
            break;
        if (!program_read(p, 1, idle))
            return !idle;
        queue_take_line(p);
    }
    return p->status <= 3;
}

/* ---- answers ---- */

static void queue_print_line(struct program *p, struct queue_line *line)
{
    p->bad[0] = line->bad;
    p->last[0] = line->number;
    print_answers(p, 0, line->bad ? NULL : line->kept.at, line->found);
    if (!line->bad)
        search.fewer += line->found > 0 && line->found < search.o.results;
    search.answered++;
}

/* Prints the lines that are done, in their order. */
static void queue_print(struct program *p)
{
    const int64_t before = search.answered;

    while (queue.first < queue.next && queue_line(queue.first)->done
           && p->status <= 3) {
        queue_print_line(p, queue_line(queue.first));
        queue.first++;
    }
    if (search.answered == before || p->status > 3)
        return;
    program_flush(p, stdout);
}

static void queue_turn(struct program *p)
{
    const int wrong = attn_queue_round(&queue.q);
    int64_t place = attn_queue_take(&queue.q);

    while (place >= 0) {
        queue_keep(p, place);
        attn_queue_free(&queue.q, place);
        place = attn_queue_take(&queue.q);
    }
    if (wrong)
        program_fail(p, 70, "internal error: the search failed");
}

static void program_lines(struct program *p)
{
    p->width = attn_max(p->m->input_width, 1);
    program_open_lines(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status == 0)
        shard_start(p);
    if (p->status == 0)
        queue_start(p);
    if (p->status != 0)
        return;
    while (p->status <= 3 && queue_read(p)) {
        queue_turn(p);
        queue_print(p);
        if (queue.first == queue.next)
            shard_answered(p);
    }
    shard_end(p);
    program_finish(p);
    for (int64_t i = 0; i < QUEUE_LINES; i++)
        free(queue.line[i].kept.at);
    free(queue.memory.at);
    memset(&queue, 0, sizeof queue);
}

/* program_score.c: --score. Each line is an input, a tab, and an output. The
 * answer is the log-probability of the output, a tab, and the log-probability
 * of each token, including the end token. */

/* Sets p->why to the reason for which the model rejects a pair. Returns -1. */
static int64_t score_refuse(struct program *p, const struct score_pair *x)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t start = (search.o.start >= 0) + search.o.prefix_n;
    const long long most = p->m->max_target + 1 - start;
    const long long n = x->n, target_n = x->target_n;

    if (target_n < 1)
        return program_wrong(p, "the output has no tokens");
    if (decoder && n + start < 1)
        return program_wrong(p, "the input has no tokens, and the spec no "
                                "vocab.tokens.start");
    if (decoder)
        return program_wrong(
            p,
            "the input has %lld tokens, the output %lld, the end counted: the "
            "model takes %lld in all (max_len)",
            n, target_n, most);
    if (n < 1)
        return program_wrong(p, "the input has no tokens");
    if (n > p->m->max_source)
        return program_wrong(p,
                             "the input has %lld tokens, the model takes %lld "
                             "(max_len.source)",
                             n, (long long)p->m->max_source);
    return program_wrong(p,
                         "the output has %lld tokens, the end counted: the "
                         "model takes %lld (max_len.target)",
                         target_n, most);
}

/* Checks that the model takes a pair. Returns 0, or -1 with p->why. */
static int64_t score_fits(struct program *p, const struct score_pair *x)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t before = (search.o.start >= 0) + search.o.prefix_n
                         + (decoder ? x->n : 0);

    if (x->target_n > 0 && before > 0
        && before + x->target_n - 1 <= p->m->max_target
        && (decoder || (x->n > 0 && x->n <= p->m->max_source)))
        return 0;
    return score_refuse(p, x);
}

/* Reads a line as a pair, behind the first p->n items. Returns -1, with p->why,
 * if it is invalid. */
static int64_t score_line(struct program *p, const char *text, int64_t bytes,
                          struct score_pair *x)
{
    const char *tab = memchr(text, '\t', (size_t)bytes);
    const int64_t left = tab ? tab - text : 0;
    const int64_t most = program_most(p, &p->source, left)
                       + program_most(p, &p->target, bytes - left);
    int32_t *ids = program_grow(p, &p->items, (p->n + most + 8) * 4);

    if (!tab || !ids)
        return program_wrong(p, "an input, a tab and an output are expected");
    ids += p->n;
    x->at = p->n;
    x->n = program_tokens(p, &p->source, TOKENS_LINE, text, left, ids);
    if (x->n < 0)
        return -1;
    int32_t *target = ids + x->n;
    x->target_n = program_tokens(p, &p->target, TOKENS_PLAIN, tab + 1,
                                 bytes - left - 1, target);
    options_of_spec(&search.o);
    if (x->target_n >= 0)
        x->target_n = attn_score_complete(&search.o, &target, x->target_n);
    x->target = target - ids + x->at;
    return x->target_n;
}

/* Prints the answer to part p->parts. scores NULL: it was rejected. */
static void score_print(struct program *p, const struct score_pair *x,
                        const float *scores)
{
    double sum = 0.0;

    for (int64_t i = 0; scores && i < x->target_n; i++)
        sum += (double)scores[i];
    if (isnan(sum)) {
        program_wrong(p, "%s", attn_error_text(ATTN_ERROR_FINITE));
        program_refuse(p, p->last[p->parts]);
        scores = NULL;
    }
    if (scores)
        printf("%.7g\t", sum);
    for (int64_t i = 0; scores && i < x->target_n; i++)
        printf(i > 0 ? " %.7g" : "%.7g", (double)scores[i]);
}

/* Scores the parts that are not rejected. Returns the log-probabilities of
 * their targets' tokens; NULL: there are none. */
static const float *score_find(struct program *p, const struct score_pair *x)
{
    const int32_t *ids = p->items.at;
    struct attn_score_pair pair[PROGRAM_PARTS];
    struct attn_score_request r = { .model = p->m,
                                    .bound = p->bound.at,
                                    .start = search.o.start,
                                    .prefix = search.o.prefix,
                                    .prefix_n = search.o.prefix_n,
                                    .pair = pair,
                                    .parallel = p->parallel };

    for (int64_t i = 0; i < p->parts; i++) {
        if (p->bad[i])
            continue;
        pair[r.pairs] = (struct attn_score_pair){ .source = ids + x[i].at,
                                                  .source_n = x[i].n,
                                                  .target = ids + x[i].target,
                                                  .target_n = x[i].target_n };
        r.pairs++;
    }
    r.bytes = attn_score_bytes(&r);
    r.memory = program_grow(p, &p->work, attn_max(r.bytes, 1));
    r.log_probability = program_grow(p, &p->text, (p->n + 1) * 4);
    if (r.pairs == 0 || !r.memory || !r.log_probability)
        return NULL;
    const int wrong = attn_score_pairs(&r);
    if (wrong == 0)
        return r.log_probability;
    if (wrong != ATTN_ERROR_FIXED)
        program_fail(p, 70, "internal error: %s", attn_error_text(wrong));
    p->parts = 0; /* a model of a fixed size takes one pair at a time */
    p->bad[0] = 1;
    program_wrong(p, "%s", attn_error_text(wrong));
    program_refuse(p, p->last[0]);
    return NULL;
}

/* Prints the answers to all parts. */
static void score_answer(struct program *p, const struct score_pair *x)
{
    const int64_t parts = p->parts;
    const float *scores = score_find(p, x);

    for (p->parts = 0; p->parts < parts && p->status <= 3; p->parts++) {
        const int bad = p->bad[p->parts];
        score_print(p, &x[p->parts], bad ? NULL : scores);
        putchar('\n');
        if (!bad && scores)
            scores += x[p->parts].target_n;
    }
}

/* Reads a part for each line that has arrived. Returns 0 at the end of the
 * input. */
static int score_read(struct program *p, struct score_pair *x)
{
    const int64_t most = attn_min(attn_score_most(p->m), PROGRAM_PARTS);
    const char *text = NULL;
    int64_t bytes = 0;

    p->n = 0;
    p->parts = 0;
    while (p->parts < most && p->n < ATTN_SCORE_TOKENS && p->status <= 3) {
        const int state = program_line(p, p->parts == 0, &text, &bytes);
        if (state == LINE_WAIT || state == LINE_END)
            break;
        p->last[p->parts] = p->in.number;
        p->bad[p->parts] = state == LINE_LONG
                        || score_line(p, text, bytes, x) < 0
                        || score_fits(p, x) < 0;
        if (p->bad[p->parts])
            program_refuse(p, p->in.number);
        else
            p->n = x->target + x->target_n;
        p->parts++;
        x++;
    }
    return p->parts > 0 && p->status <= 3;
}

static void program_scores(struct program *p)
{
    struct score_pair x[PROGRAM_PARTS];

    program_open_lines(p);
    while ((p->status == 0 || p->status == 3) && score_read(p, x)) {
        score_answer(p, x);
        if (p->status <= 3)
            program_flush(p, stdout);
    }
}

/* program_state.c: writes the file of --save-state, which appears complete or
 * not at all. It never replaces a file that the program reads, except the file
 * of --load-state, nor any file that is neither empty nor a saved state. */

enum {
    STATE_PATH = 4096 + 256
}; /* maximum length of a path with a temporary suffix */

static bool state_is_read(const struct program *p, const struct stat *st)
{
    struct stat in;

    if (fstat(STDIN_FILENO, &in) == 0 && in.st_dev == st->st_dev
        && in.st_ino == st->st_ino)
        return true;
    for (int i = 0; i < PROGRAM_FILES; i++)
        if (program_files[i].path != p->load_state
            && program_files[i].device == st->st_dev
            && program_files[i].inode == st->st_ino)
            return true;
    return false;
}

/* True if the file begins like a saved state of any format. */
static bool state_is_there(const char *path)
{
    char head[8];
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof head);

    if (fd >= 0)
        close(fd);
    return attn_state_begins(head, n);
}

/* If a file at the path must not be replaced, prints a message and sets
 * p->status. */
static void state_may_replace(struct program *p)
{
    const char *path = p->save_state;
    struct stat st;

    if (attn_descriptor(path) >= 0 || stat(path, &st) != 0
        || !S_ISREG(st.st_mode))
        return;
    if (state_is_read(p, &st))
        program_fail(p, 2,
                     "%s: this command reads the file and would replace it: "
                     "name another output",
                     path);
    else if (st.st_size > 0 && !state_is_there(path))
        program_fail(p, 2,
                     "%s: is not a saved state: name another output, or remove "
                     "the file",
                     path);
}

/* Writes all bytes and closes the file. Returns false with errno set. */
static bool state_write(FILE *f, const char *state, int64_t bytes, bool sync)
{
    const bool well = f && fwrite(state, 1, (size_t)bytes, f) == (size_t)bytes
                   && fflush(f) == 0 && (!sync || fsync(fileno(f)) == 0);
    const int why = errno;

    if (f && fclose(f) != 0 && well)
        return false;
    errno = why;
    return well;
}

/* Writes a temporary file in the same directory and renames it to `path`.
 * Meanwhile, signals that would end the program are blocked. Returns false with
 * errno set. */
static bool state_replace(const char *path, const char *state, int64_t bytes)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash + 1 - path) : 0;
    char beside[STATE_PATH];
    sigset_t ends, before;
    struct timespec t;
    bool well;

    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(beside, sizeof beside, "%.*s.%.200s.tmp.%ld.%09ld", folder, path,
             path + folder, (long)getpid(), (long)t.tv_nsec);
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    FILE *f = fopen(beside, "wbx");
    well = state_write(f, state, bytes, true) && rename(beside, path) == 0;
    const int why = errno;
    if (f && !well)
        unlink(beside);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return well;
}

/* Writes the state to the file of --save-state. Follows links, and writes to
 * pipes and devices directly. */
static void state_put(struct program *p, const char *state, int64_t bytes)
{
    const char *path = p->save_state;
    const int fd = attn_descriptor(path);
    char real[STATE_PATH];
    struct stat st;
    bool well;

    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail with EFBIG */
    if (fd == STDOUT_FILENO) {
        fwrite(state, 1, (size_t)bytes, stdout);
        program_flush(p, stdout);
        return;
    }
    state_may_replace(p); /* a file may have appeared since the answer began */
    if (p->status != 0)
        return;
    if (fd >= 0)
        well = state_write(fdopen(dup(fd), "wb"), state, bytes, false);
    else if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        well = state_replace(realpath(path, real) ? real : path, state, bytes);
    else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
        well = state_write(fopen(path, "wb"), state, bytes, false);
    else {
        program_fail(p, 4, "%s: cannot write: %s", path,
                     S_ISDIR(st.st_mode) ? "is a folder"
                                         : "is not a regular file");
        return;
    }
    if (!well)
        program_fail(p, 4, "%s: cannot write: %s", path, strerror(errno));
}

/* program_stream.c: --prompt. Answers one text token by token; for a decoder,
 * prints the prompt first. The state after the answer can be saved, so that
 * this program or attnc run can load it and continue. */

struct program_stream {
    struct attn_stream s;
    const struct attn_state_header *state; /* the loaded state, or NULL */
    int64_t state_bytes;
    uint64_t weights;         /* hash of the weights; a state must match it */
    int begun;                /* the text continues an earlier one */
    FILE *to;                 /* stream for the answer: stderr if the state goes
                               * to stdout */
    int64_t n;                /* number of tokens in the prompt */
    int64_t printed;          /* number of ids printed */
    int64_t count;            /* tokens in the answer, without the prefix */
    double from, first, last; /* seconds at start, first and last token */
};

static double stream_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- open ---- */

static void stream_load(struct program *p, struct program_stream *r)
{
    const char *path = p->load_state, *wrong = NULL;
    const char *file = program_map(p, path, &r->state_bytes);

    if (p->status == 0)
        wrong = attn_state_check(p->m, r->weights, file, r->state_bytes);
    if (wrong)
        program_fail(p, 3, "%s: %s", path, wrong);
    if (p->status != 0)
        return;
    r->state = (const void *)file;
    r->begun = r->state->tokens > (search.o.start >= 0);
    if (!p->prompt && !p->set.prefix)
        search.o.prefix_n = 0; /* the state is in the middle of an answer, after
                                * its prefix */
    if (p->m->kind != ATTN_DECODER && p->prompt)
        program_fail(p, 2,
                     "--prompt: the source was read before the state "
                     "was saved");
}

static void stream_prompt(struct program *p, struct program_stream *r)
{
    const char *text = p->prompt ? p->prompt : "";
    const int64_t bytes = (int64_t)strlen(text);
    const int64_t most = program_most(p, &p->source, bytes);
    int32_t *ids = program_grow(p, &p->items, most * 4);

    if (!ids || bytes == 0)
        return;
    r->n = program_tokens(p, &p->source, r->begun ? TOKENS_BEGUN : TOKENS_LINE,
                          text, bytes, ids);
    if (r->n < 0)
        program_fail(p, 3, "--prompt: %s", p->why);
    if (search.o.max_input > 0)
        r->n = attn_min(r->n, search.o.max_input);
}

/* Returns the maximum tokens of the stream, `lead` of which precede the
 * answer. */
static int64_t stream_room(struct program *p, int64_t rows, int64_t lead)
{
    const int64_t most = p->m->max_target;
    int64_t answer = attn_search_limit(p->m, &search.o, rows, lead);

    if (p->tokens >= 0)
        answer = attn_min(search.o.prefix_n + p->tokens, most);
    const int64_t room = attn_max(attn_min(lead + answer, most + 1), 1);
    if (lead + search.o.prefix_n > room)
        program_fail(
            p, 3, "no room is left for the %lld tokens that begin the answer",
            (long long)search.o.prefix_n);
    return room;
}

/* Opens the stream in p->found, for a source of `rows` rows, with room for
 * `tokens` tokens. Restores the state, if there is one, and passes the tokens
 * at p->items. Returns 0 or an error. */
static int open_stream(struct program *p, struct program_stream *r,
                       int64_t rows, int64_t tokens)
{
    const int64_t bytes = attn_stream_bytes(p->m, &search.o, rows, tokens, 1);
    const struct attn_stream_request anew = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .ids = p->items.at,
        .n = r->n,
        .tokens = tokens,
        .streams = 1,
        .memory = program_grow(p, &p->found, bytes),
        .bytes = bytes,
    };
    const struct attn_restore_request saved = {
        .model = p->m,
        .bound = p->bound.at,
        .o = &search.o,
        .weights = r->weights,
        .state = r->state,
        .bytes = r->state_bytes,
        .tokens = tokens,
        .streams = 1,
        .memory = anew.memory,
        .memory_bytes = bytes,
    };

    if (!anew.memory)
        return ATTN_ERROR_ROOM;
    if (!r->state)
        return attn_stream_open(&r->s, &anew);
    const int wrong = attn_state_restore(&r->s, &saved);
    return wrong ? wrong : attn_stream_feed(&r->s, p->items.at, r->n);
}

/* Opens the stream and passes the prefix, which counts as part of the answer
 * even for a decoder. */
static void stream_make(struct program *p, struct program_stream *r,
                        int64_t rows, int64_t tokens)
{
    int wrong = open_stream(p, r, rows, tokens);
    const int64_t lead = r->s.lead;

    if (p->status != 0)
        return;
    if (!wrong)
        wrong = attn_stream_feed(&r->s, search.o.prefix, search.o.prefix_n);
    r->s.lead = lead;
    if (wrong)
        program_fail(p, 70, "internal error: the stream failed");
}

/* Checks that there is room for the prompt and opens the stream. */
static void stream_begin(struct program *p, struct program_stream *r)
{
    const int decoder = p->m->kind == ATTN_DECODER;
    const int64_t most = decoder ? p->m->max_target : p->m->max_source;
    int64_t rows = r->n, lead;

    search.o.beam = 1;
    lead = attn_search_lead(p->m, &search.o, r->n);
    if (r->state) {
        lead = r->state->tokens + r->n;
        rows = r->state->source_rows;
        if (lead > p->m->max_target + 1)
            program_fail(p, 3,
                         "the prompt has %lld tokens after %lld of %s, the "
                         "model takes %lld (max_len)",
                         (long long)r->n, (long long)r->state->tokens,
                         p->load_state, (long long)p->m->max_target);
    } else if (r->n > most || lead > p->m->max_target)
        program_fail(p, 3,
                     "the prompt has %lld tokens, the model takes %lld "
                     "(max_len): shorten it",
                     (long long)r->n, (long long)most);
    else if (lead == 0 || (!decoder && rows == 0))
        program_fail(p, 3, "the prompt is empty");
    if (p->status != 0)
        return;
    const int64_t room = stream_room(p, rows, lead);
    if (p->status == 0)
        stream_make(p, r, decoder && !r->state ? 0 : rows, room);
}

/* Parses --stop: strings that end the answer, or ids if no text is printed. */
static void stream_ends(struct program *p, struct program_stream *r)
{
    int64_t n = 0;

    for (int64_t i = 0; i < p->stop.n && p->status == 0; i++) {
        const char *text = p->stop.at[i];
        const int64_t bytes = (int64_t)strlen(text);
        int32_t *ids = program_grow(p, &p->turn, (n + bytes + 2) * 4);
        if (!ids)
            return;
        const int64_t found = program_tokens(p, &p->target, TOKENS_PLAIN, text,
                                             bytes, ids + n);
        if (found <= 0)
            program_fail(p, 2, "--stop: %s",
                         found < 0 ? p->why : "no token ids are in it");
        n += found;
    }
    r->s.stop = p->turn.at;
    r->s.stops = n;
}

/* ---- answer ---- */

/* Prints a token, as text if there is a vocabulary. */
static void stream_print(struct program *p, struct program_stream *r,
                         int32_t id)
{
    (void)p;
    fprintf(r->to, r->printed > 0 ? " %d" : "%d", (int)id);
    r->printed++;
}

/* Prints a decoder's prompt, with which its text begins, and the prefix of the
 * answer. Stop strings do not apply to them. */
static void stream_print_prompt(struct program *p, struct program_stream *r)
{
    for (int64_t i = 0; i < search.o.prefix_n; i++)
        stream_print(p, r, search.o.prefix[i]);
    program_flush(p, r->to);
}

/* Prints at most `most` tokens as they are chosen. Returns the last result of
 * attn_stream_next(). */
static int64_t stream_tokens(struct program *p, struct program_stream *r,
                             int64_t most)
{
    int64_t token = 0;

    for (r->count = 0; p->status <= 3 && r->count < most; r->count++) {
        token = attn_stream_next(&r->s);
        if (token < 0)
            break;
        r->last = stream_now();
        if (r->count == 0)
            r->first = r->last;
        stream_print(p, r, (int32_t)token);
        program_flush(p, r->to);
    }
    if (p->status > 3)
        return 0;
    fputc('\n', r->to);
    program_flush(p, r->to);
    return token;
}

static void stream_speed(const struct program *p,
                         const struct program_stream *r)
{
    if (p->quiet || r->count < 2 || !(r->last > r->first))
        return;
    fprintf(stderr,
            "%lld tokens, %.1f tokens per second; the first after "
            "%.1f ms",
            (long long)r->count, (double)(r->count - 1) / (r->last - r->first),
            (r->first - r->from) * 1e3);
    if (r->s.o.draft)
        fprintf(stderr, "; %lld of %lld proposals taken",
                (long long)r->s.room->draft.taken,
                (long long)r->s.room->draft.proposed);
    fputc('\n', stderr);
}

static void stream_save(struct program *p, const struct program_stream *r)
{
    const int64_t bytes = attn_state_bytes(&r->s);
    char *state = program_grow(p, &p->items, bytes);

    if (!state)
        return;
    attn_state_save(&r->s, r->weights, state, bytes);
    state_put(p, state, bytes);
}

static void program_stream(struct program *p)
{
    struct program_stream r = { .to = stdout };
    int64_t token = 0;

    if (p->save_state && attn_descriptor(p->save_state) == STDOUT_FILENO)
        r.to = stderr;
    if (p->save_state)
        state_may_replace(p);
    if (p->status == 0)
        program_prepare(p);
    if (p->status == 0 && (p->load_state || p->save_state))
        r.weights = attn_weights_hash(p->m, p->packed);
    if (p->load_state && p->status == 0)
        stream_load(p, &r);
    if (p->status == 0)
        stream_prompt(p, &r);
    r.from = stream_now();
    if (p->status == 0)
        stream_begin(p, &r);
    if (p->status == 0)
        stream_ends(p, &r);
    if (p->status == 0)
        stream_print_prompt(p, &r);
    if (p->status == 0)
        token = stream_tokens(p, &r, p->tokens < 0 ? INT64_MAX : p->tokens);
    if (attn_stream_failed(token))
        program_fail(p, 3, "--prompt: %s", attn_error_text(token));
    if (p->status == 0)
        stream_speed(p, &r);
    if (p->status == 0 && p->save_state)
        stream_save(p, &r);
}

/* program_answers.c: starts the kind of answering that the options select, for
 * a model that generates. */

/* Holds a conversation, if the model has the required chat template and
 * vocabulary. */
static void program_chat(struct program *p)
{
    program_prepare(p);
    if (p->status == 0 && !spec_has_chat)
        program_fail(
            p, 3,
            "--chat: the spec has no `chat`, the texts around the turns "
            "of a conversation");
    if (p->status == 0)
        program_fail(p, 3, "--chat: the spec has no vocabulary");
}

static void program_answers(struct program *p)
{
    if (p->m->input_width > 0 && p->use != ATTN_FOR_LINES)
        program_fail(p, 3,
                     "the source is rows of numbers: lines of stdin have them, "
                     "a row each, and an empty one behind the last");
    else if (p->use == ATTN_FOR_PROMPT)
        program_stream(p);
    else if (p->use == ATTN_FOR_CHAT)
        program_chat(p);
    else if (p->use == ATTN_FOR_SCORE)
        program_scores(p);
    else
        program_lines(p);
}

/* program_words.c: parses the command line according to the rows of
 * program_option ("--seed 7", "--seed=7", "-n9"), and answers --help and
 * --version. */

static void *option_at(struct program *p, const struct program_option *o)
{
    return (char *)p + o->at;
}

static int program_alone(const struct program *p)
{
    return p->file || p->m->weights_bytes == 0;
}

/* Returns the likely meaning of an unknown option, or NULL. */
static const char *option_hint(const struct program *p, const char *word,
                               int how)
{
    const char *names[PROGRAM_OPTIONS + 3];
    struct attn_options o;

    o.names = 0;
    for (; o.names < PROGRAM_OPTIONS; o.names++)
        names[o.names] = program_option[o.names].name;
    names[o.names] = "<";
    names[o.names + 1] = ">";
    names[o.names + 2] = "FILE.weights";
    o.names += program_alone(p) ? 2 : 3;
    o.name = names;
    o.synonym = program_synonym;
    o.synonyms = (int)(sizeof program_synonym / sizeof *program_synonym);
    return attn_option_hint(word, &o, how);
}

/* Returns the row of an option, or NULL if there is none. If the word also
 * contains a value, sets *value to it. A word such as -ngl is not -n with a
 * value. */
static const struct program_option *
option_of(const struct program *p, const char *word, const char **value)
{
    const int is_long = strncmp(word, "--", 2) == 0;

    *value = NULL;
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        const size_t n = strlen(o->name);
        if (strncmp(word, o->name, n) != 0)
            continue;
        if (word[n] == '\0')
            return o;
        if (!o->takes || (is_long && word[n] != '=') || (!is_long && n > 2)
            || (!is_long && word[n] == '=')
            || (!is_long && option_hint(p, word, ATTN_HINT_NAMED)))
            continue;
        *value = word + n + is_long;
        return o;
    }
    return NULL;
}

static void option_unknown(struct program *p, const char *word)
{
    const char *hint = option_hint(p, word, ATTN_HINT_NEAR);
    const size_t n = strcspn(word, "=");
    char quoted[ATTN_QUOTED];

    attn_quote(word, (int64_t)n, quoted);
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        if (strncmp(o->name, word, n) != 0 || o->name[n])
            continue;
        if (o->takes)
            program_fail(p, 2, "%s takes its value without '=': %s %s", o->name,
                         o->name, o->takes);
        else
            program_fail(p, 2, "%s takes no value", o->name);
        return;
    }
    if (!hint)
        program_fail(p, 2, "unknown option '%s'; --help lists them", quoted);
    else
        program_fail(p, 2,
                     *hint >= 'a' && *hint <= 'z'
                         ? "unknown option '%s': %s"
                         : "unknown option '%s': did you mean %s?",
                     quoted, hint);
}

/* ---- values ---- */

static double option_number(struct program *p, const struct program_option *o,
                            const char *text)
{
    const int whole = o->kind == OPTION_WHOLE;
    char *end, quoted[ATTN_QUOTED];
    double x;

    errno = 0;
    x = strtod(text, &end);
    attn_quote(text, (int64_t)strlen(text), quoted);
    if (end == text || *end != '\0' || errno != 0 || !(x - x >= 0.0)
        || (whole && x != floor(x)))
        program_fail(p, 2, "%s takes a%s number, not '%s'", o->name,
                     whole ? " whole" : "", quoted);
    else if (x < o->least || x > o->most)
        program_fail(p, 2, "%s %s is out of range: %.12g to %.12g", o->name,
                     quoted, o->least, o->most);
    return x;
}

static void option_add(struct program *p, struct program_list *l,
                       const char *text)
{
    const size_t bytes = (size_t)(l->n + 1) * sizeof *l->at;
    const char **at = realloc(l->at, bytes);

    if (!at) {
        program_fail(p, 5, "out of memory");
        return;
    }
    l->at = at;
    l->at[l->n] = text;
    l->n++;
}

static void option_take(struct program *p, const struct program_option *o,
                        const char *text)
{
    void *at = option_at(p, o);
    double x = 0.0;

    if (o->kind == OPTION_WHOLE || o->kind == OPTION_REAL)
        x = option_number(p, o, text);
    if (p->status != 0)
        return;
    if (o->kind == OPTION_FLAG)
        *(bool *)at = true;
    else if (o->kind == OPTION_WHOLE)
        *(int64_t *)at = (int64_t)x;
    else if (o->kind == OPTION_REAL)
        *(float *)at = (float)x;
    else if (o->kind == OPTION_TEXT)
        *(const char **)at = text;
    else
        option_add(p, at, text);
    p->given |= (uint64_t)1 << (o - program_option);
}

static void option_defaults(struct program *p)
{
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        if (o->kind == OPTION_WHOLE)
            *(int64_t *)option_at(p, o) = (int64_t)o->default_value;
        if (o->kind == OPTION_REAL)
            *(float *)option_at(p, o) = (float)o->default_value;
    }
}

/* ---- help ---- */

static void program_usage(const struct program *p, FILE *to)
{
    fprintf(to, "usage: ");
    fprintf(to, "%s [options]%s < lines\n", p->name,
            program_alone(p) ? "" : " model.weights");
}

static void program_help(struct program *p)
{
    const char *group = "";

    program_usage(p, stdout);
    printf("%s answers each line of stdin.\n", p->m->name);
    for (int i = 0; i < PROGRAM_OPTIONS; i++) {
        const struct program_option *o = &program_option[i];
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name,
                 !o->takes           ? ""
                 : o->name[1] == '-' ? "="
                                     : " ",
                 o->takes ? o->takes : "");
        if (strcmp(group, o->group) != 0)
            printf("\n%s:\n", o->group);
        group = o->group;
        printf("  %-27s %s\n", left, o->help);
    }
    printf("\nExit codes: 0 done, 2 usage, 3 bad input, 4 input or output, "
           "5 memory,\n6 a processor that it is not made for.\n");
    program_flush(p, stdout);
}

static void program_version(struct program *p)
{
    printf("%s, made by attnc %s: spec %016llx, weights %016llx, code for %s\n",
           p->m->name, PROGRAM_ATTNC, (unsigned long long)p->m->spec_hash,
           (unsigned long long)p->m->weights_hash, p->m->target(NULL));
    program_flush(p, stdout);
}

/* ---- reading ---- */

/* True if the words contain --help or -h, other than as the value of an
 * option. */
static int words_help(const struct program *p, int n, char **word)
{
    const char *value;

    for (int i = 0; i < n && strcmp(word[i], "--") != 0; i++) {
        const struct program_option *o = option_of(p, word[i], &value);
        if (strcmp(word[i], "-h") == 0 || strcmp(word[i], "--help") == 0)
            return 1;
        if (o && o->takes && !value)
            i++;
    }
    return 0;
}

/* Parses an option, whose value may be `next`. Returns the number of words
 * used. */
static int words_option(struct program *p, const char *word, const char *next)
{
    const char *value;
    const struct program_option *o = option_of(p, word, &value);

    if (!o)
        option_unknown(p, word);
    else if (o->takes && !value && !next)
        program_fail(p, 2, "%s takes a value: %s %s", o->name, o->name,
                     o->takes);
    else {
        const int apart = o->takes && !value;
        option_take(p, o, apart ? next : value);
        return apart ? 2 : 1;
    }
    return 1;
}

static void words_operand(struct program *p, const char *word)
{
    char quoted[ATTN_QUOTED], other[ATTN_QUOTED];

    attn_quote(word, (int64_t)strlen(word), quoted);
    if (program_alone(p)) {
        program_fail(p, 2, "no file is taken: '%s'", quoted);
    } else if (p->path) {
        attn_quote(p->path, (int64_t)strlen(p->path), other);
        program_fail(p, 2, "one file at a time: '%s' and '%s'", other, quoted);
    } else
        p->path = word;
}

/* Rejects options that do not apply to the selected use. */
static void words_check(struct program *p)
{
    p->use = program_use(p);
    if (p->status == 0)
        shard_words(p);
    if (p->status == 0 && p->output && !p->shard)
        program_fail(p, 2, "-o names the files of --shard: use > FILE");
    for (int i = 0; i < PROGRAM_OPTIONS && p->status == 0; i++) {
        const struct program_option *o = &program_option[i];
        if ((p->given >> i & 1) != 0 && (o->use & p->use) == 0)
            program_fail(p, 2, "%s is for %s, not for %s%s", o->name,
                         attn_use_text(o->use), attn_use_text(p->use),
                         attn_use_hint(o->name, p->use));
    }
    if (p->status == 0 && p->set.draft && strcmp(p->set.draft, "ngram") != 0)
        program_fail(p, 2, "--draft takes ngram"); /* attnc: also a model */
}

/* Parses the command line. Returns 0 if there is nothing left to do. */
static int program_words(struct program *p, int n, char **word)
{
    int options = 1, i = 0;

    option_defaults(p);
    if (words_help(p, n, word)) {
        program_help(p);
        return 0;
    }
    while (i < n && p->status == 0 && !p->version) {
        if (!options || word[i][0] != '-' || word[i][1] == '\0') {
            words_operand(p, word[i]);
            i++;
        } else if (strcmp(word[i], "--") == 0) {
            options = 0;
            i++;
        } else
            i += words_option(p, word[i], i + 1 < n ? word[i + 1] : NULL);
    }
    if (p->status == 0 && p->version) {
        program_version(p);
        return 0;
    }
    if (p->status == 0)
        words_check(p);
    if (p->status == 0 && !p->path && !program_alone(p)) {
        program_usage(p, stderr);
        fprintf(stderr, "%s --help lists the options\n", p->name);
        p->status = 2;
    }
    return p->status == 0;
}

/* program_main.c: the main function of the program. */

/* Opens a pool of p->threads threads or, if that is negative, of one per
 * physical core; ranks share these cores. */
static void program_threads(struct program *p)
{
    const int64_t by_default = attn_cores();
    const int64_t threads = p->threads < 0 ? by_default : p->threads;

    if (threads < 2)
        return;
    p->pool = attn_pool_open(threads);
    if (!p->pool) {
        program_fail(p, 5, "out of memory for %lld threads",
                     (long long)threads);
        return;
    }
    p->parallel = attn_pool_parallel(p->pool);
    if (attn_pool_refused(p->pool) && p->threads > 0)
        program_warn(p, "--threads %lld: the system gives %lld (%s)",
                     (long long)threads, (long long)p->parallel->parts,
                     attn_pool_refused(p->pool));
}

static int program_main(int argc, char **argv)
{
    struct program p;

    memset(&p, 0, sizeof p);
    p.name = argc > 0 ? argv[0] : model.name;
    p.m = &model;
    p.file = embedded_weights(&p.bytes);
    if (p.status == 0 && program_words(&p, argc - 1, argv + 1)
        && p.status == 0) {
        if (p.status == 0 && p.path)
            p.file = program_map(&p, p.path, &p.bytes);
        if (p.status == 0 && p.file)
            program_weights(&p);
        if (p.status == 0)
            program_threads(&p);
        if (p.status == 0)
            program_answers(&p);
    }
    attn_pool_close(p.pool);
    free(p.bound.at);
    free(p.stop.at);
    free(p.suppress.at);
    program_free(&p);
    return p.status;
}

int main(int argc, char **argv)
{
    const char *lacks = NULL;

    if (!lacks && !__builtin_cpu_supports("avx2"))
        lacks = "avx2";
    if (!lacks && !__builtin_cpu_supports("fma"))
        lacks = "fma";
    if (!lacks && !__builtin_cpu_supports("bmi"))
        lacks = "bmi";
    if (!lacks && !__builtin_cpu_supports("bmi2"))
        lacks = "bmi2";
    if (lacks) {
        fprintf(stderr,
                "%s: made for x86-64-v3: this processor lacks %s\n",
                argv[0], lacks);
        return 6;
    }
    return program_main(argc, argv);
}
#endif

#if defined __clang__
#pragma clang attribute pop
#elif defined __GNUC__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif
