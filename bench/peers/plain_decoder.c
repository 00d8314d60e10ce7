/* plain_decoder.c: a decoder of rms norms, interleaved rotary positions,
 * grouped keys and a silu-gated network in plain loops, as a compiler's
 * vectoriser takes them: what one writes in an afternoon, and the least that
 * emitted code has to beat. One token at a time, greedy, one thread.
 *
 * usage: plain_decoder WEIGHTS d_model h h_kv d_ff N vocab length end start
 *                      prompt steps
 *
 * WEIGHTS: floats in the order of read_weights. Reads the ids start and prompt,
 * then answers `steps` ids, never `end`. Prints them, then a line with the
 * median and the best time of all that, in ms.                              */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { Runs = 20 };

typedef struct {
    const float *norm1, *q, *k, *v, *o, *norm2, *w1, *w3, *w2;
    float *keys, *values;        /* [length][h_kv * d_k] */
} Layer;

typedef struct {
    int d_model, h, h_kv, d_ff, n_layers, vocab, length, end, d_k;
    const float *embedding, *norm;
    Layer *layer;
    float *x, *normed, *q, *heads, *gate, *up, *scores, *logits;
} Decoder;

static void *need(void *memory)
{
    if (!memory) {
        fprintf(stderr, "plain_decoder: out of memory\n");
        exit(5);
    }
    return memory;
}

static float *floats(size_t n)
{
    return need(calloc(n, sizeof(float)));
}

static const float *take(FILE *file, size_t n)
{
    float *at = floats(n);
    if (fread(at, sizeof(float), n, file) != n) {
        fprintf(stderr, "plain_decoder: the weights end early\n");
        exit(3);
    }
    return at;
}

static void read_weights(Decoder *m, FILE *file)
{
    const size_t d = (size_t)m->d_model, kv = (size_t)(m->h_kv * m->d_k);
    const size_t ff = (size_t)m->d_ff;

    m->embedding = take(file, (size_t)m->vocab * d);
    m->norm = take(file, d);
    for (int i = 0; i < m->n_layers; i++)
        m->layer[i] = (Layer){
            .norm1 = take(file, d), .q = take(file, d * d),
            .k = take(file, kv * d), .v = take(file, kv * d),
            .o = take(file, d * d), .norm2 = take(file, d),
            .w1 = take(file, ff * d), .w3 = take(file, ff * d),
            .w2 = take(file, d * ff),
            .keys = floats((size_t)m->length * kv),
            .values = floats((size_t)m->length * kv)
        };
}

static void rms_norm(float *y, const float *x, const float *w, int d)
{
    float sum = 0;
    for (int i = 0; i < d; i++)
        sum += x[i] * x[i];
    const float scale = 1 / sqrtf(sum / (float)d + 1e-5f);
    for (int i = 0; i < d; i++)
        y[i] = w[i] * (scale * x[i]);
}

/* y [n] = w [n, k] x [k] */
static void multiply(float *y, const float *w, const float *x, int n, int k)
{
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < k; j++)
            sum += w[i * k + j] * x[j];
        y[i] = sum;
    }
}

static void rotate(float *x, int heads, int d_k, int position)
{
    for (int i = 0; i < heads * d_k; i += 2) {
        const float rate = powf(10000, -(float)(i % d_k) / (float)d_k);
        const float c = cosf((float)position * rate);
        const float s = sinf((float)position * rate);
        const float a = x[i], b = x[i + 1];
        x[i] = a * c - b * s;
        x[i + 1] = a * s + b * c;
    }
}

static void softmax(float *x, int n)
{
    float most = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

static void attend(const Decoder *m, const Layer *l, int head, int position)
{
    const int d = m->d_k, kv = m->h_kv * d;
    const int at = head / (m->h / m->h_kv) * d;
    const float *q = m->q + head * d;
    float *out = m->heads + head * d;

    for (int t = 0; t <= position; t++) {
        float sum = 0;
        for (int i = 0; i < d; i++)
            sum += q[i] * l->keys[t * kv + at + i];
        m->scores[t] = sum / sqrtf((float)d);
    }
    softmax(m->scores, position + 1);
    memset(out, 0, (size_t)d * sizeof *out);
    for (int t = 0; t <= position; t++)
        for (int i = 0; i < d; i++)
            out[i] += m->scores[t] * l->values[t * kv + at + i];
}

static void add_product(Decoder *m, const float *w, const float *x, int k)
{
    multiply(m->normed, w, x, m->d_model, k);
    for (int i = 0; i < m->d_model; i++)
        m->x[i] += m->normed[i];
}

static void self_attention(Decoder *m, const Layer *l, int position)
{
    const int d = m->d_model, kv = m->h_kv * m->d_k;
    float *k = l->keys + position * kv;

    rms_norm(m->normed, m->x, l->norm1, d);
    multiply(m->q, l->q, m->normed, d, d);
    multiply(k, l->k, m->normed, kv, d);
    multiply(l->values + position * kv, l->v, m->normed, kv, d);
    rotate(m->q, m->h, m->d_k, position);
    rotate(k, m->h_kv, m->d_k, position);
    for (int head = 0; head < m->h; head++)
        attend(m, l, head, position);
    add_product(m, l->o, m->heads, d);
}

static void feed_forward(Decoder *m, const Layer *l)
{
    rms_norm(m->normed, m->x, l->norm2, m->d_model);
    multiply(m->gate, l->w1, m->normed, m->d_ff, m->d_model);
    multiply(m->up, l->w3, m->normed, m->d_ff, m->d_model);
    for (int i = 0; i < m->d_ff; i++)
        m->gate[i] *= m->up[i] / (1 + expf(-m->gate[i]));
    add_product(m, l->w2, m->gate, m->d_ff);
}

/* The best next token after `token`, which is row `position`. */
static int step(Decoder *m, int token, int position)
{
    int best = m->end == 0;

    memcpy(m->x, m->embedding + (size_t)token * (size_t)m->d_model,
           (size_t)m->d_model * sizeof(float));
    for (int i = 0; i < m->n_layers; i++) {
        self_attention(m, &m->layer[i], position);
        feed_forward(m, &m->layer[i]);
    }
    rms_norm(m->normed, m->x, m->norm, m->d_model);
    multiply(m->logits, m->embedding, m->normed, m->vocab, m->d_model);
    for (int i = 0; i < m->vocab; i++)
        if (m->logits[i] > m->logits[best] && i != m->end)
            best = i;
    return best;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(Decoder *m, int start, int prompt, int steps)
{
    double time[Runs];

    for (int r = 0; r < Runs; r++) {
        int token = prompt;
        const double begin = now_ms();
        step(m, start, 0);
        for (int i = 0; i < steps; i++) {
            token = step(m, token, i + 1);
            if (r == 0)
                printf("%d%c", token, i + 1 < steps ? ' ' : '\n');
        }
        time[r] = now_ms() - begin;
    }
    qsort(time, Runs, sizeof *time, by_size);
    printf("%.6f %.6f\n", time[Runs / 2], time[0]);
}

int main(int argc, char **argv)
{
    int n[12] = {0};
    for (int i = 2; i < argc && i < 13; i++)
        n[i - 1] = (int)strtol(argv[i], NULL, 10);
    FILE *file = argc == 13 ? fopen(argv[1], "rb") : NULL;
    if (!file || n[11] >= n[7]) {
        fprintf(stderr, "usage: plain_decoder WEIGHTS d_model h h_kv d_ff N "
                        "vocab length end start prompt steps\n");
        return 2;
    }
    Decoder m = { .d_model = n[1], .h = n[2], .h_kv = n[3], .d_ff = n[4],
                  .n_layers = n[5], .vocab = n[6], .length = n[7],
                  .end = n[8], .d_k = n[1] / n[2] };
    const size_t d = (size_t)m.d_model, ff = (size_t)m.d_ff;
    m.layer = need(calloc((size_t)m.n_layers, sizeof *m.layer));
    read_weights(&m, file);
    fclose(file);
    m.x = floats(d), m.normed = floats(d), m.q = floats(d);
    m.heads = floats(d), m.gate = floats(ff), m.up = floats(ff);
    m.scores = floats((size_t)m.length), m.logits = floats((size_t)m.vocab);
    measure(&m, n[9], n[10], n[11]);
    return 0;
}
