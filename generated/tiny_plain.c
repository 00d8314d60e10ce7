/* tiny, a Transformer in plain C, made by attnc 0.1.0 by
 *     attnc compile tiny.yaml --plain
 *
 * Its results equal those of attnc's fast C bit for bit. It computes one
 * sequence at a time. Section numbers refer to Attention Is All You Need
 * [Vaswani et al. 2017]. 44,288 parameters. Needs a C99 compiler:
 *
 *     cc -O2 -std=c99 -c model.c
 *     cc -O2 -std=c99 -DATTNC_MAIN model.c -lm -o model
 *     ./model model.weights < lines
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

enum { D_MODEL = 32, HEADS = 2, D_K = 16, D_V = 16, D_FF = 64,
           ENCODER_LAYERS = 2, DECODER_LAYERS = 2, SOURCE_VOCAB = 48,
           TARGET_VOCAB = 48, MAX_SOURCE = 16, MAX_TARGET = 16 };

/* Weights: a matrix [n, k] computes n numbers from k; biases follow. */
struct encoder_layer {
    float self_attn_q[32 * 32], self_attn_q_bias[32];    /* [32, 32] */
    float self_attn_k[32 * 32], self_attn_k_bias[32];    /* [32, 32] */
    float self_attn_v[32 * 32], self_attn_v_bias[32];    /* [32, 32] */
    float self_attn_o[32 * 32], self_attn_o_bias[32];    /* [32, 32] */
    float norm1[32], norm1_bias[32];                     /* [32] */
    float ffn_w1[64 * 32], ffn_w1_bias[64];              /* [64, 32] */
    float ffn_w2[32 * 64], ffn_w2_bias[32];              /* [32, 64] */
    float norm2[32], norm2_bias[32];                     /* [32] */
};

struct cross_layer {
    float cross_attn_k[32 * 32], cross_attn_k_bias[32];  /* [32, 32] */
    float cross_attn_v[32 * 32], cross_attn_v_bias[32];  /* [32, 32] */
};

struct decoder_layer {
    float self_attn_q[32 * 32], self_attn_q_bias[32];    /* [32, 32] */
    float self_attn_k[32 * 32], self_attn_k_bias[32];    /* [32, 32] */
    float self_attn_v[32 * 32], self_attn_v_bias[32];    /* [32, 32] */
    float self_attn_o[32 * 32], self_attn_o_bias[32];    /* [32, 32] */
    float norm1[32], norm1_bias[32];                     /* [32] */
    float cross_attn_q[32 * 32], cross_attn_q_bias[32];  /* [32, 32] */
    float cross_attn_o[32 * 32], cross_attn_o_bias[32];  /* [32, 32] */
    float norm3[32], norm3_bias[32];                     /* [32] */
    float ffn_w1[64 * 32], ffn_w1_bias[64];              /* [64, 32] */
    float ffn_w2[32 * 64], ffn_w2_bias[32];              /* [32, 64] */
    float norm2[32], norm2_bias[32];                     /* [32] */
};

struct weights {
    float target[48 * 32];                               /* [48, 32] */
    float source_positions[16 * 32];                     /* [16, 32] */
    float target_positions[16 * 32];                     /* [16, 32] */
    struct encoder_layer encoder[ENCODER_LAYERS];
    struct cross_layer cross[DECODER_LAYERS];
    struct decoder_layer decoder[DECODER_LAYERS];
};

/* Computed values; keys and values last from call to call. */
struct state {
    int source_rows;                                     /* n */
    float x[MAX_SOURCE * 32];                            /* [n, 32] */
    float self_attn_q[MAX_SOURCE * 32];                  /* [n, 32] */
    float self_attn_k[MAX_SOURCE * 32];                  /* [n, 32] */
    float self_attn_v[MAX_SOURCE * 32];                  /* [n, 32] */
    float self_attn[MAX_SOURCE * 32];                    /* [n, 32] */
    float self_attn_o[MAX_SOURCE * 32];                  /* [n, 32] */
    float ffn_w1[MAX_SOURCE * 64];                       /* [n, 64] */
    float ffn_w2[MAX_SOURCE * 32];                       /* [n, 32] */
    float cross_keys[DECODER_LAYERS][MAX_SOURCE * 32];   /* [n, 32] */
    float cross_values[DECODER_LAYERS][MAX_SOURCE * 32]; /* [n, 32] */
    float self_keys[DECODER_LAYERS][MAX_TARGET * 32];    /* [p+t, 32] */
    float self_values[DECODER_LAYERS][MAX_TARGET * 32];  /* [p+t, 32] */
    float cross_attn_q[32];                              /* [t, 32] */
    float cross_attn[32];                                /* [t, 32] */
    float cross_attn_o[32];                              /* [t, 32] */
    float logits_selected[32];                           /* [r, 32] */
    float logits_matmul[48];                             /* [r, 48] */
};

/* ----------------------------------------------------------- arithmetic --- */

/* Returns 2^t = 2^n 2^f, |f| <= 1/2, by a polynomial, because exp2f() differs
 * between libraries. A subnormal result becomes 0. */
static float power_of_2(float t)
{
    static const float c[] = { 0x1.5f3e52p-10f, 0x1.3b2d4cp-7f, 0x1.c6aee8p-5f,
                               0x1.ebfbdcp-3f, 0x1.62e43p-1f, 1.0f };
    const float shift = 0x1.8000fep+23f; /* adding it rounds */
    const float n = (t + shift) - shift, f = t - n;
    float p = 0x1.41fbbcp-13f;

    for (int i = 0; i < 6; i++)
        p = fmaf(p, f, c[i]);
    return t <= -126.5f ? 0.0f : ldexpf(p, (int)n);
}

/* Applies max(0, x), as in equation 2; NaN stays NaN. */
static void relu_rows(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = 0.0f > x[i] ? 0.0f : x[i];
}

/* Adds 16 sums, one half onto the other. Number j of a row is in sum j % 16, so
 * that vectors of any width give the same bits. */
static float sum_16(float *sum)
{
    for (int n = 8; n > 0; n /= 2)
        for (int i = 0; i < n; i++)
            sum[i] += sum[i + n];
    return sum[0];
}

static void copy(float *y, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i];
}

static void add(float *y, const float *a, const float *b, int n)
{
    for (int i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

/* Computes y = by x + b: embeddings (section 3.4) plus positions (3.5). */
static void scale_add(float *y, const float *x, const float *b, int n, float by)
{
    for (int i = 0; i < n; i++)
        y[i] = fmaf(by, x[i], b[i]);
}

/* Computes (x - mean) / sqrt(variance + eps) gamma + beta of each row [Ba et
 * al. 2016]. */
static void layer_norm(float *y, const float *x, const float *gamma,
                       const float *beta, int rows, int d, float eps)
{
    for (int i = 0; i < rows; i++, x += d, y += d) {
        float sum[16] = { 0.0f }, squares[16] = { 0.0f };

        for (int j = 0; j < d; j++)
            sum[j % 16] += x[j];
        const float mean = sum_16(sum) / (float)d;
        for (int j = 0; j < d; j++)
            squares[j % 16] = fmaf(x[j] - mean, x[j] - mean, squares[j % 16]);
        const float by = 1.0f / sqrtf(sum_16(squares) / (float)d + eps);
        for (int j = 0; j < d; j++)
            y[j] = fmaf((x[j] - mean) * by, gamma[j], beta ? beta[j] : 0.0f);
    }
}

/* Turns the next 64 scores of a row, -inf for missing ones, into weights
 * 2^(by (score - max)) and adds them to sum[16]. A score above the maximum so
 * far raises it, which scales down y and the sums [Milakov and Gimelshein
 * 2018]. */
static void softmax_64(float *p, float by, float *max, float *sum, float *y,
                       int d)
{
    float top = -INFINITY;

    for (int j = 0; j < 64; j++)
        top = p[j] > top ? p[j] : top;
    if (top > *max) {
        const float less = power_of_2((*max - top) * by);

        for (int c = 0; c < d; c++)
            y[c] *= less;
        for (int i = 0; i < 16; i++)
            sum[i] *= less;
        *max = top;
    }
    top = *max == -INFINITY ? 0.0f : *max;
    for (int j = 0; j < 64; j++)
        p[j] = power_of_2((p[j] - top) * by);
    for (int i = 0; i < 16; i++)
        sum[i] += (p[i] + p[i + 16]) + (p[i + 32] + p[i + 48]);
}

/* Copies each token's row of w, its embedding (section 3.4). */
static void embed(float *y, const int *ids, const float *w, int rows, int d)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < d; j++)
            y[i * d + j] = w[(size_t)ids[i] * d + j];
}

/* Computes y = x W^T; W has d_out rows. */
static void matmul(float *y, const float *x, const float *w, int rows,
                   int d_in, int d_out)
{
    for (int i = 0; i < rows; i++, x += d_in)
        for (int j = 0; j < d_out; j++) {
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x[k], w[(size_t)j * d_in + k], sum);
            *y++ = sum;
        }
}

/* Computes y = x W^T + bias; W has d_out rows. */
static void linear(float *y, const float *x, const float *w, const float *bias,
                   int rows, int d_in, int d_out)
{
    for (int i = 0; i < rows; i++, x += d_in)
        for (int j = 0; j < d_out; j++) {
            float sum = 0.0f;

            for (int k = 0; k < d_in; k++)
                sum = fmaf(x[k], w[(size_t)j * d_in + k], sum);
            *y++ = sum + bias[j];
        }
}

/* Attention: softmax(Q K^T) V (section 3.2.1), of 2 heads. For 64 keys at a
 * time: scores, weights, the sum of values times these. */
static void attention(float *y, const float *q, const float *k, const float *v,
                      int rows, int keys)
{
    for (int i = 0; i < rows; i++) {
        for (int h = 0; h < 2; h++) {
            const float *q_i = q + (i * 2 + h) * 16;
            float *y_i = y + (i * 2 + h) * 16;
            float largest = -INFINITY, sum[16] = { 0.0f };

            for (int c = 0; c < 16; c++)
                y_i[c] = 0.0f;
            for (int at = 0; at < keys; at += 64) {
                float weight[64];

                for (int j = 0; j < 64; j++)
                    weight[j] = -INFINITY;
                for (int j = 0; j < 64 && at + j < keys; j++) {
                    const float *k_j = k + ((at + j) * 2 + h) * 16;
                    float score = 0.0f;

                    for (int c = 0; c < 16; c++)
                        score = fmaf(q_i[c], k_j[c], score);
                    weight[j] = score;
                }
                softmax_64(weight, 1.442695f, &largest, sum, y_i, 16);
                for (int j = 0; j < 64 && at + j < keys; j++) {
                    const float *v_j = v + ((at + j) * 2 + h) * 16;

                    for (int c = 0; c < 16; c++)
                        y_i[c] = fmaf(weight[j], v_j[c], y_i[c]);
                }
            }
            const float total = sum_16(sum);

            for (int c = 0; c < 16 && total != 0.0f; c++)
                y_i[c] *= 1.0f / total;
        }
    }
}

/* ------------------------------------------------------------ the model --- */

/* A layer of the encoder (section 3.1): s->x becomes what the next one
 * reads. */
static void encoder_layer(const struct weights *w, struct state *s, int l,
                          int rows)
{
    const struct encoder_layer *layer = &w->encoder[l];

    /* Self-attention (section 3.2.3) */
    linear(s->self_attn_q, s->x, layer->self_attn_q, layer->self_attn_q_bias,
           rows, 32, 32);
    linear(s->self_attn_k, s->x, layer->self_attn_k, layer->self_attn_k_bias,
           rows, 32, 32);
    linear(s->self_attn_v, s->x, layer->self_attn_v, layer->self_attn_v_bias,
           rows, 32, 32);
    attention(s->self_attn, s->self_attn_q, s->self_attn_k, s->self_attn_v,
              rows, rows);
    linear(s->self_attn_o, s->self_attn, layer->self_attn_o,
           layer->self_attn_o_bias, rows, 32, 32);

    /* Add & Norm (section 3.1) */
    add(s->x, s->x, s->self_attn_o, rows * 32);
    layer_norm(s->x, s->x, layer->norm1, layer->norm1_bias, rows, 32, 1e-06f);

    /* Position-wise feed-forward network (section 3.3) */
    linear(s->ffn_w1, s->x, layer->ffn_w1, layer->ffn_w1_bias, rows, 32, 64);
    relu_rows(s->ffn_w1, rows * 64);
    linear(s->ffn_w2, s->ffn_w1, layer->ffn_w2, layer->ffn_w2_bias, rows, 64,
           32);

    /* Add & Norm (section 3.1) */
    add(s->x, s->x, s->ffn_w2, rows * 32);
    layer_norm(s->x, s->x, layer->norm2, layer->norm2_bias, rows, 32, 1e-06f);
}

/* Keys and values of the encoder's output, for a layer of the decoder. */
static void cross_layer(const struct weights *w, struct state *s, int l,
                        int rows)
{
    const struct cross_layer *layer = &w->cross[l];

    /* Attention to the encoder's output (section 3.2.3) */
    linear(s->cross_keys[l], s->x, layer->cross_attn_k,
           layer->cross_attn_k_bias, rows, 32, 32);
    linear(s->cross_values[l], s->x, layer->cross_attn_v,
           layer->cross_attn_v_bias, rows, 32, 32);
}

/* The encoder: what it makes of the source stays in s, as keys and values. */
void tiny_encode(const struct weights *w, struct state *s, const int *ids,
                 int rows)
{
    s->source_rows = rows;

    /* Embeddings and positions (sections 3.4, 3.5) */
    embed(s->x, ids, w->target, rows, 32);
    scale_add(s->x, s->x, w->source_positions, rows * 32, 5.656854f);

    for (int l = 0; l < ENCODER_LAYERS; l++) {
        encoder_layer(w, s, l, rows);
    }
    for (int l = 0; l < DECODER_LAYERS; l++) {
        cross_layer(w, s, l, rows);
    }
}

/* A layer of the decoder (section 3.1): s->x becomes what the next one
 * reads. */
static void decoder_layer(const struct weights *w, struct state *s, int l,
                          int past)
{
    const struct decoder_layer *layer = &w->decoder[l];

    /* Self-attention (section 3.2.3) */
    linear(s->self_attn_q, s->x, layer->self_attn_q, layer->self_attn_q_bias, 1,
           32, 32);
    linear(s->self_keys[l] + past * 32, s->x, layer->self_attn_k,
           layer->self_attn_k_bias, 1, 32, 32);
    linear(s->self_values[l] + past * 32, s->x, layer->self_attn_v,
           layer->self_attn_v_bias, 1, 32, 32);
    attention(s->self_attn, s->self_attn_q, s->self_keys[l], s->self_values[l],
              1, past + 1);
    linear(s->self_attn_o, s->self_attn, layer->self_attn_o,
           layer->self_attn_o_bias, 1, 32, 32);

    /* Add & Norm (section 3.1) */
    add(s->x, s->x, s->self_attn_o, 32);
    layer_norm(s->x, s->x, layer->norm1, layer->norm1_bias, 1, 32, 1e-06f);

    /* Attention to the encoder's output (section 3.2.3) */
    linear(s->cross_attn_q, s->x, layer->cross_attn_q, layer->cross_attn_q_bias,
           1, 32, 32);
    attention(s->cross_attn, s->cross_attn_q, s->cross_keys[l],
              s->cross_values[l], 1, s->source_rows);
    linear(s->cross_attn_o, s->cross_attn, layer->cross_attn_o,
           layer->cross_attn_o_bias, 1, 32, 32);

    /* Add & Norm (section 3.1) */
    add(s->x, s->x, s->cross_attn_o, 32);
    layer_norm(s->x, s->x, layer->norm3, layer->norm3_bias, 1, 32, 1e-06f);

    /* Position-wise feed-forward network (section 3.3) */
    linear(s->ffn_w1, s->x, layer->ffn_w1, layer->ffn_w1_bias, 1, 32, 64);
    relu_rows(s->ffn_w1, 64);
    linear(s->ffn_w2, s->ffn_w1, layer->ffn_w2, layer->ffn_w2_bias, 1, 64, 32);

    /* Add & Norm (section 3.1) */
    add(s->x, s->x, s->ffn_w2, 32);
    layer_norm(s->x, s->x, layer->norm2, layer->norm2_bias, 1, 32, 1e-06f);
}

/* The decoder: one token behind `past` others, whose keys and values are in s.
 * Returns the logits of the next token, 48 numbers. */
const float *tiny_decode(const struct weights *w, struct state *s, int id,
                         int past)
{
    /* Embeddings and positions (sections 3.4, 3.5) */
    embed(s->x, &id, w->target, 1, 32);
    scale_add(s->x, s->x, w->target_positions + past * 32, 32, 5.656854f);

    for (int l = 0; l < DECODER_LAYERS; l++) {
        decoder_layer(w, s, l, past);
    }

    /* Of the last row (section 3.4) */
    copy(s->logits_selected, s->x, 32);
    matmul(s->logits_matmul, s->logits_selected, w->target, 1, 32, 48);
    return s->logits_matmul;
}

/* Reads weights from a file: a line that names the model, then the struct
 * as in memory, little-endian. Returns 0 if the file is for another
 * model. */
int tiny_read(struct weights *w, FILE *file)
{
    static const char line[] = "attnc plain weights 069bb2cad2eb8cad of tiny" "\n";
    char first[sizeof line];

    return fread(first, sizeof line - 1, 1, file) == 1
        && memcmp(first, line, sizeof line - 1) == 0
        && fread(w, sizeof *w, 1, file) == 1 && getc(file) == EOF;
}

#ifdef ATTNC_MAIN

/* Reads the ids of a line. Returns their number, or -1. */
static int read_ids(const char *at, int *ids, int most, int line)
{
    int n = 0, used;

    while (n <= most && sscanf(at, "%d%n", ids + n, &used) == 1) {
        if (ids[n] < 0 || ids[n] > 47)
            break;
        at += used;
        n++;
    }
    if (n <= most && at[strspn(at, " \t\r\n")] == '\0')
        return n;
    fprintf(stderr, "<stdin>:%d: error: up to %d ids of 0 to %d "
            "are expected\n", line, most, 47);
    return -1;
}

static const int ends[] = { 2, -1 };
static const int never[] = { 1, 0, -1 };

static int is_in(const int *list, int id)
{
    for (; *list >= 0; list++)
        if (*list == id)
            return 1;
    return 0;
}

/* Returns the likeliest allowed token. */
static int likeliest(const float *logits)
{
    int best = -1;

    for (int i = 0; i < 48; i++)
        if ((best < 0 || logits[i] > logits[best]) && !is_in(never, i))
            best = i;
    return best;
}

/* Answers n ids by greedy search and prints the tokens. */
static void generate(const struct weights *w, struct state *s,
                     const int *ids, int n)
{
    static int tokens[MAX_TARGET + 1];
    const float *logits = NULL;
    int end = 0, past = 0, most;

    tokens[end++] = 1;
    tiny_encode(w, s, ids, n);
    most = MAX_TARGET - end + 1;
    most = most < n + 50 ? most : n + 50;
    for (int k = 0; k < most; k++) {
        int token;

        for (; past < end; past++)
            logits = tiny_decode(w, s, tokens[past], past);
        token = likeliest(logits);
        if (token < 0 || is_in(ends, token))
            break;
        printf(k ? " %d" : "%d", token);
        if (end < MAX_TARGET)
            tokens[end++] = token;
    }
}

static int answer(const struct weights *w, struct state *s)
{
    static char line[16 * (MAX_SOURCE + 1)];
    static int ids[MAX_SOURCE + 1];
    int status = 0;

    for (int l = 1; fgets(line, sizeof line, stdin); l++) {
        const int n = read_ids(line, ids, MAX_SOURCE, l);

        if (n < 0)
            status = 3;
        if (n > 0)
            generate(w, s, ids, n);
        printf("\n");
    }
    return status;
}

int main(int argc, char **argv)
{
    struct weights *w = malloc(sizeof *w);
    struct state *s = malloc(sizeof *s);
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    int status = 4;

    if (!w || !s)
        fprintf(stderr, "out of memory\n");
    else if (argc != 2)
        fprintf(stderr, "usage: %s WEIGHTS < lines\n", argv[0]);
    else if (!file)
        fprintf(stderr, "%s: cannot be opened\n", argv[1]);
    else if (!tiny_read(w, file))
        fprintf(stderr, "%s: not this model's weights: write "
                "them by attnc compile --plain\n", argv[1]);
    else
        status = answer(w, s);
    if (file)
        fclose(file);
    free(w);
    free(s);
    return status;
}
#endif
