/* interp_attention.c: the oracle's ops that mix the rows of a sequence, in
 * double, with complete score matrices and the formulas of graph/ops.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "oracle/interp.h"

/* Returns the rows of the key or value head that query head `h` of `heads`
 * uses; neighbouring query heads share one. */
static const double *served_by(Matrix kv, int64_t h, int64_t heads)
{
    return kv.at + h / (heads / kv.heads) * kv.rows * kv.cols;
}

/* Returns the head's vector of scores, or NULL if there is none. */
static const double *score_vector(const Interp *in, const Node *n, int64_t head)
{
    if (!has_score_vector(n))
        return NULL;
    return in->value[score_input(n)] + head * interp_in(in, n, 0).cols;
}

/* Returns one term of a score. */
static double score_term(ScoreType type, double v, double q, double k)
{
    switch (type) {
#define SCORE(name, word, vector, flops, value, ...) \
    case Score##name: return value;
#include "spec/fields/score_forms.h"
    default: return 0;
    }
}

static double score(ScoreType type, const double *v, const double *q,
                    const double *k, int64_t d)
{
    double sum = 0;
    for (int64_t c = 0; c < d; c++)
        sum += score_term(type, v ? v[c] : 0, q[c], k[c]);
    return sum;
}

void eval_scores(const Interp *in, const Node *n, double *out)
{
    Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1);
    for (int64_t i = 0; i < q.heads * q.rows; i++) {
        const double *keys = served_by(k, i / q.rows, q.heads);
        const double *v = score_vector(in, n, i / q.rows);
        for (int64_t j = 0; j < k.rows; j++)
            *out++ = score(n->score, v, q.at + i * q.cols, keys + j * k.cols,
                           q.cols);
    }
}

static double cap_one(double cap, double x)
{
    return cap > 0 ? cap * tanh(x / cap) : x;
}

void eval_softcap(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = cap_one(n->cap, x.at[i]);
}

/* Returns the bias of the score of row i and key j in head h of `heads`.
 * `table` has the shape [buckets, heads]. */
static double bias_of(const Node *n, const double *table, int64_t heads,
                      int64_t h, int64_t i, int64_t j)
{
    switch (n->bias) {
    case BiasAlibi:
        return -n->slope * alibi_slope(h, heads) * (double)llabs(i - j);
    case BiasRelative:
        return table[relative_bucket(j - i, n->buckets, n->max_distance,
                                     n->bidirectional)
                         * heads
                     + h];
    case BiasNone: break;
    }
    return 0;
}

static const double *bias_table(const Interp *in, const Node *n, int input)
{
    return n->nin > input ? interp_in(in, n, input).at : NULL;
}

void eval_score_bias(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    const double *table = bias_table(in, n, 1);
    for (int64_t at = 0; at < size_of(x); at++)
        out[at] = x.at[at]
                + bias_of(n, table, x.heads, at / x.cols / x.rows,
                          at / x.cols % x.rows, at % x.cols);
}

/* The oracle computes complete sequences, so query row i is at the position of
 * key row i. */
void eval_mask(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++) {
        bool seen = mask_allows(n->mask, i / x.cols % x.rows, i % x.cols,
                                in->prefix);
        out[i] = seen ? x.at[i] : -HUGE_VAL;
    }
}

/* Applies softmax to one row in place. A row that is completely masked becomes
 * zeros. `sink` is one more score without a value; -inf: no sink. */
static void softmax_row(double *x, int64_t n, double sink)
{
    double max = sink, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    if (sink != -HUGE_VAL)
        sum = exp(sink - max);
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i] == -HUGE_VAL ? 0 : exp(x[i] - max);
        sum += x[i];
    }
    for (int64_t i = 0; i < n && sum != 0; i++)
        x[i] /= sum;
}

static double sink_of(const Interp *in, const Node *n, int64_t head)
{
    return n->sinks ? interp_in(in, n, n->nin - 1).at[head] : -HUGE_VAL;
}

void eval_softmax(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    for (int64_t r = 0; r < x.heads * x.rows; r++)
        softmax_row(out + r * x.cols, x.cols, sink_of(in, n, r / x.rows));
}

/* Returns the weight of a score by itself. */
static double score_weight(int normalizer, double x)
{
    switch (normalizer) {
#define NORMALIZER(name, word, plain, weight) \
    case Normalizer##name: return weight;
#include "spec/fields/score_forms.h"
    default: return x;
    }
}

void eval_weights(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = score_weight(normalizer_of(n->op), x.at[i]);
}

/* Writes the sum of m rows of v, each with its weight in p. The rows are
 * `stride` apart and have d columns. Keys with weight 0 are skipped, because 0
 * * inf is NaN. */
static void mix(const double *p, int64_t m, const double *v, int64_t stride,
                double *out, int64_t d)
{
    memset(out, 0, (size_t)d * sizeof *out);
    for (int64_t j = 0; j < m; j++)
        for (int64_t c = 0; c < d && p[j] != 0; c++)
            out[c] += p[j] * v[j * stride + c];
}

void eval_context(const Interp *in, const Node *n, double *out)
{
    Matrix p = interp_in(in, n, 0), v = interp_in(in, n, 1);
    for (int64_t i = 0; i < p.heads * p.rows; i++)
        mix(p.at + i * p.cols, p.cols, served_by(v, i / p.rows, p.heads),
            v.cols, out + i * v.cols, v.cols);
}

void eval_attention(const Interp *in, const Node *n, double *out)
{
    Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1),
           v = interp_in(in, n, 2);
    const double *table = n->bias ? bias_table(in, n, 3) : NULL;
    double *p = arena_alloc(in->arena, (size_t)k.rows * sizeof *p);
    for (int64_t i = 0; i < q.rows; i++)
        for (int64_t h = 0; h < q.heads; h++, out += v.cols) {
            const double *row = q.at + (h * q.rows + i) * q.cols;
            const double *keys = served_by(k, h, q.heads);
            const double *by = score_vector(in, n, h);
            for (int64_t j = 0; j < k.rows; j++) {
                double s = n->scale
                         * score(n->score, by, row, keys + j * k.cols, q.cols);
                s = cap_one(n->cap, s) + bias_of(n, table, q.heads, h, i, j);
                p[j] = mask_allows(n->mask, i, j, in->prefix) ? s : -HUGE_VAL;
            }
            for (int64_t j = 0; j < k.rows; j++)
                p[j] = score_weight((int)n->normalizer, p[j]);
            if (n->normalizer == NormalizerSoftmax)
                softmax_row(p, k.rows, sink_of(in, n, h));
            mix(p, k.rows, served_by(v, h, q.heads), v.cols, out, v.cols);
        }
}

/* ---- a row a sequence ---- */

static double pool_one(PoolType pool, const double *x, int64_t rows,
                       int64_t stride)
{
    double sum = 0, most = -HUGE_VAL;
    for (int64_t r = 0; r < rows; r++) {
        sum += x[r * stride];
        most = most >= x[r * stride] ? most : x[r * stride];
    }
    switch (pool) {
    case PoolMean:  return sum / (double)rows;
    case PoolClass: return x[0];
    case PoolLast:  return x[(rows - 1) * stride];
    case PoolMax:   return most;
    case PoolSum:   return sum;
    case PoolNone:  break;
    }
    die("oracle: no such pool");
}

void eval_pool(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t c = 0; c < x.cols; c++)
        out[c] = pool_one(n->pool, x.at + c, x.rows, x.cols);
}
