/* plain_decoder.c: a decoder of rms norms, interleaved rotary positions,
 * grouped keys and a silu-gated network in plain loops, as a compiler's
 * vectoriser takes them: what one writes in an afternoon, and the least that
 * emitted code has to beat. One token at a time, greedy, one thread, called by
 * peer_plain.py.                                                             */
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const float *norm1, *q, *k, *v, *o, *norm2, *w1, *w3, *w2;
    float *keys, *values; /* [length][h_kv * d_k] */
} Layer;

typedef struct {
    int d_model, h, h_kv, d_ff, n_layers, vocab, length, end, d_k;
    const float *embedding, *norm;
    Layer *layer;
    float *x, *normed, *q, *heads, *gate, *up, *scores, *logits;
} Decoder;

static Decoder m;

static float *floats(size_t n)
{
    float *at = calloc(n, sizeof *at);

    if (!at)
        abort();
    return at;
}

static const float *take(const float **at, size_t n)
{
    *at += n;
    return *at - n;
}

/* sizes: d_model, h, h_kv, d_ff, layers, vocab, length, end. weights: the
 * embedding, the last norm, then the layers as below.                        */
void decoder_open(const int *sizes, const float *weights);
void decoder_open(const int *sizes, const float *weights)
{
    m = (Decoder){ .d_model = sizes[0],
                   .h = sizes[1],
                   .h_kv = sizes[2],
                   .d_ff = sizes[3],
                   .n_layers = sizes[4],
                   .vocab = sizes[5],
                   .length = sizes[6],
                   .end = sizes[7],
                   .d_k = sizes[0] / sizes[1] };
    const size_t d = (size_t)m.d_model, kv = (size_t)(m.h_kv * m.d_k);
    const size_t ff = (size_t)m.d_ff;

    m.layer = calloc((size_t)m.n_layers, sizeof *m.layer);
    m.embedding = take(&weights, (size_t)m.vocab * d);
    m.norm = take(&weights, d);
    for (int i = 0; m.layer && i < m.n_layers; i++)
        m.layer[i] = (Layer){ .norm1 = take(&weights, d),
                              .q = take(&weights, d * d),
                              .k = take(&weights, kv * d),
                              .v = take(&weights, kv * d),
                              .o = take(&weights, d * d),
                              .norm2 = take(&weights, d),
                              .w1 = take(&weights, ff * d),
                              .w3 = take(&weights, ff * d),
                              .w2 = take(&weights, d * ff),
                              .keys = floats((size_t)m.length * kv),
                              .values = floats((size_t)m.length * kv) };
    m.x = floats(d), m.normed = floats(d), m.q = floats(d);
    m.heads = floats(d), m.gate = floats(ff), m.up = floats(ff);
    m.scores = floats((size_t)m.length), m.logits = floats((size_t)m.vocab);
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

static void attend(const Layer *l, int head, int position)
{
    const int d = m.d_k, kv = m.h_kv * d;
    const int at = head / (m.h / m.h_kv) * d;
    const float *q = m.q + head * d;
    float *out = m.heads + head * d;

    for (int t = 0; t <= position; t++) {
        float sum = 0;
        for (int i = 0; i < d; i++)
            sum += q[i] * l->keys[t * kv + at + i];
        m.scores[t] = sum / sqrtf((float)d);
    }
    softmax(m.scores, position + 1);
    memset(out, 0, (size_t)d * sizeof *out);
    for (int t = 0; t <= position; t++)
        for (int i = 0; i < d; i++)
            out[i] += m.scores[t] * l->values[t * kv + at + i];
}

static void add_product(const float *w, const float *x, int k)
{
    multiply(m.normed, w, x, m.d_model, k);
    for (int i = 0; i < m.d_model; i++)
        m.x[i] += m.normed[i];
}

static void self_attention(const Layer *l, int position)
{
    const int d = m.d_model, kv = m.h_kv * m.d_k;
    float *k = l->keys + position * kv;

    rms_norm(m.normed, m.x, l->norm1, d);
    multiply(m.q, l->q, m.normed, d, d);
    multiply(k, l->k, m.normed, kv, d);
    multiply(l->values + position * kv, l->v, m.normed, kv, d);
    rotate(m.q, m.h, m.d_k, position);
    rotate(k, m.h_kv, m.d_k, position);
    for (int head = 0; head < m.h; head++)
        attend(l, head, position);
    add_product(l->o, m.heads, d);
}

static void feed_forward(const Layer *l)
{
    rms_norm(m.normed, m.x, l->norm2, m.d_model);
    multiply(m.gate, l->w1, m.normed, m.d_ff, m.d_model);
    multiply(m.up, l->w3, m.normed, m.d_ff, m.d_model);
    for (int i = 0; i < m.d_ff; i++)
        m.gate[i] *= m.up[i] / (1 + expf(-m.gate[i]));
    add_product(l->w2, m.gate, m.d_ff);
}

/* The best next token after `token`, which is row `position`. */
static int step(int token, int position)
{
    int best = m.end == 0;

    memcpy(m.x, m.embedding + (size_t)token * (size_t)m.d_model,
           (size_t)m.d_model * sizeof(float));
    for (int i = 0; i < m.n_layers; i++) {
        self_attention(&m.layer[i], position);
        feed_forward(&m.layer[i]);
    }
    rms_norm(m.normed, m.x, m.norm, m.d_model);
    multiply(m.logits, m.embedding, m.normed, m.vocab, m.d_model);
    for (int i = 0; i < m.vocab; i++)
        if (m.logits[i] > m.logits[best] && i != m.end)
            best = i;
    return best;
}

/* Reads the ids start and prompt, then answers `steps` ids, never `end`. */
void decoder_run(int start, int prompt, int steps, int *answer);
void decoder_run(int start, int prompt, int steps, int *answer)
{
    int token = prompt;

    step(start, 0);
    for (int i = 0; i < steps; i++)
        answer[i] = token = step(token, i + 1);
}
