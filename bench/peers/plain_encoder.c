/* plain_encoder.c: an encoder of layer norms behind, biases and relu in plain
 * loops, as a compiler's vectoriser takes them: what one writes in an
 * afternoon, and the least that emitted code has to beat. One sentence, one
 * thread, called by peer_plain.py.                                           */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const float *weight, *bias;
} Linear;

typedef struct {
    Linear q, k, v, o, norm1, w1, w2, norm2;
} Layer;

static struct {
    int d, h, ff, layers;
    float eps;
    const float *embedding, *positions;
    Layer *layer;
    float *x, *q, *k, *v, *heads, *inner, *scores;
} m;

static Linear take(const float **at, int out, int in)
{
    const Linear l = { *at, *at + (size_t)out * (size_t)in };

    *at = l.bias + out;
    return l;
}

static float *floats(int rows, int columns)
{
    float *at = calloc((size_t)rows * (size_t)columns, sizeof *at);

    if (!at)
        abort();
    return at;
}

/* sizes: d, h, ff, layers, vocab, n (the longest sentence). weights: the scaled
 * embedding [vocab, d], positions [n, d], then the layers as below.          */
void encoder_open(const int *sizes, float eps, const float *weights);
void encoder_open(const int *sizes, float eps, const float *weights)
{
    const int d = sizes[0], ff = sizes[2], n = sizes[5];

    m.d = d, m.h = sizes[1], m.ff = ff, m.layers = sizes[3];
    m.eps = eps;
    m.embedding = weights;
    m.positions = weights + (size_t)sizes[4] * (size_t)d;
    weights = m.positions + (size_t)n * (size_t)d;
    m.layer = calloc((size_t)m.layers, sizeof *m.layer);
    for (int i = 0; m.layer && i < m.layers; i++) {
        Layer *l = &m.layer[i];
        l->q = take(&weights, d, d), l->k = take(&weights, d, d);
        l->v = take(&weights, d, d), l->o = take(&weights, d, d);
        l->norm1 = take(&weights, d, 1);
        l->w1 = take(&weights, ff, d), l->w2 = take(&weights, d, ff);
        l->norm2 = take(&weights, d, 1);
    }
    m.x = floats(n, d), m.q = floats(n, d), m.k = floats(n, d);
    m.v = floats(n, d), m.heads = floats(n, d), m.inner = floats(n, ff);
    m.scores = floats(n, 1);
}

/* y [n, out] = x [n, in] weight^T + bias */
static void linear(float *restrict y, const float *restrict x, Linear l, int n,
                   int out, int in)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < out; j++) {
            float sum = 0;
            for (int k = 0; k < in; k++)
                sum += x[i * in + k] * l.weight[j * in + k];
            y[i * out + j] = sum + l.bias[j];
        }
}

/* x = norm(x + y) */
static void add_norm(float *restrict x, const float *restrict y, Linear l,
                     int n, int d)
{
    for (int i = 0; i < n; i++, x += d, y += d) {
        float mean = 0, variance = 0;
        for (int j = 0; j < d; j++) {
            x[j] += y[j];
            mean += x[j];
        }
        mean /= (float)d;
        for (int j = 0; j < d; j++)
            variance += (x[j] - mean) * (x[j] - mean);
        const float scale = 1 / sqrtf(variance / (float)d + m.eps);
        for (int j = 0; j < d; j++)
            x[j] = (x[j] - mean) * scale * l.weight[j] + l.bias[j];
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

/* One head, which begins at column `at`; one row. */
static void attend(int at, int row, int n)
{
    const int d = m.d, d_k = d / m.h;
    float *out = m.heads + row * d + at;

    for (int t = 0; t < n; t++) {
        float sum = 0;
        for (int i = 0; i < d_k; i++)
            sum += m.q[row * d + at + i] * m.k[t * d + at + i];
        m.scores[t] = sum / sqrtf((float)d_k);
    }
    softmax(m.scores, n);
    memset(out, 0, (size_t)d_k * sizeof *out);
    for (int t = 0; t < n; t++)
        for (int i = 0; i < d_k; i++)
            out[i] += m.scores[t] * m.v[t * d + at + i];
}

static void layer(const Layer *l, int n)
{
    const int d = m.d;

    linear(m.q, m.x, l->q, n, d, d);
    linear(m.k, m.x, l->k, n, d, d);
    linear(m.v, m.x, l->v, n, d, d);
    for (int at = 0; at < d; at += d / m.h)
        for (int row = 0; row < n; row++)
            attend(at, row, n);
    linear(m.q, m.heads, l->o, n, d, d);
    add_norm(m.x, m.q, l->norm1, n, d);
    linear(m.inner, m.x, l->w1, n, m.ff, d);
    for (int i = 0; i < n * m.ff; i++)
        m.inner[i] = m.inner[i] > 0 ? m.inner[i] : 0;
    linear(m.q, m.inner, l->w2, n, d, m.ff);
    add_norm(m.x, m.q, l->norm2, n, d);
}

/* The rows [n, d] of n tokens. */
const float *encoder_run(const int *ids, int n);
const float *encoder_run(const int *ids, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m.d; j++)
            m.x[i * m.d + j] = m.embedding[ids[i] * m.d + j]
                             + m.positions[i * m.d + j];
    for (int i = 0; i < m.layers; i++)
        layer(&m.layer[i], n);
    return m.x;
}
