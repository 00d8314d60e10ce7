/* interp_ops.c: the arithmetic of the oracle, op by op, in double, as the
 * formulas of ops.h say. Whole rows, no blocks, no tricks.                  */
#include <math.h>
#include <string.h>

#include "interp.h"

static int64_t size_of(Matrix m)
{
    return m.heads * m.rows * m.cols;
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ------------------------------------------------------------- row by row */

void eval_embed(const Interp *in, const Node *n, double *out)
{
    Matrix table = interp_in(in, n, 0), ids = interp_in(in, n, 1);
    const double *positions = n->nin > 2 && n->in[2] >= 0
                            ? interp_in(in, n, 2).at : NULL;
    int64_t d = table.cols;
    for (int64_t r = 0; r < size_of(ids); r++)
        for (int64_t c = 0; c < d; c++) {
            double x = n->scale * table.at[(int64_t)ids.at[r] * d + c];
            out[r * d + c] = positions ? x + positions[r * d + c] : x;
        }
}

void eval_position(const Interp *in, const Node *n, double *out)
{
    int64_t size = interp_extent(in, n->type.dim[0])
                 * interp_extent(in, n->type.dim[1]);
    memcpy(out, interp_in(in, n, 0).at, (size_t)size * sizeof *out);
}

void eval_matmul(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t c = 0; c < w.rows; c++)
            *out++ = dot(x.at + r * x.cols, w.at + c * w.cols, x.cols);
}

void eval_bias(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), b = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = x.at[i] + b.at[i % x.cols];
}

void eval_scale(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = n->scale * x.at[i];
}

void eval_add(const Interp *in, const Node *n, double *out)
{
    Matrix a = interp_in(in, n, 0), b = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(a); i++)
        out[i] = a.at[i] + b.at[i];
}

/* NaN stays NaN: it is not below zero. */
static double relu(double x)
{
    return x < 0 ? 0 : x;
}

void eval_relu(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = relu(x.at[i]);
}

void eval_linear(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    const double *bias = n->has_bias ? interp_in(in, n, 2).at : NULL;
    const double *rest = n->has_residual ? interp_in(in, n, 3).at : NULL;
    eval_matmul(in, n, out);
    for (int64_t i = 0; i < x.rows * w.rows; i++) {
        double y = out[i];
        if (bias)
            y += bias[i % w.rows];
        if (n->act == ActRelu)
            y = relu(y);
        if (rest)
            y += rest[i];
        out[i] = y;
    }
}

/* One row, in place. The variance is the biased one, as in the papers. */
static void norm_row(double *x, int64_t d, double eps,
                     const double *gamma, const double *beta)
{
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < d; c++)
        mean += x[c];
    mean /= (double)d;
    for (int64_t c = 0; c < d; c++)
        variance += (x[c] - mean) * (x[c] - mean);
    variance /= (double)d;
    for (int64_t c = 0; c < d; c++)
        x[c] = (x[c] - mean) / sqrt(variance + eps) * gamma[c] + beta[c];
}

void eval_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    for (int64_t r = 0; r < x.rows; r++)
        norm_row(out + r * x.cols, x.cols, n->eps,
                 interp_in(in, n, 1).at, interp_in(in, n, 2).at);
}

void eval_add_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    eval_add(in, n, out);
    for (int64_t r = 0; r < x.rows; r++)
        norm_row(out + r * x.cols, x.cols, n->eps,
                 interp_in(in, n, 2).at, interp_in(in, n, 3).at);
}

/* -------------------------------------------------------------- attention */

void eval_scores(const Interp *in, const Node *n, double *out)
{
    Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1);
    for (int64_t i = 0; i < q.heads * q.rows; i++) {
        const double *keys = k.at + i / q.rows * k.rows * k.cols;
        for (int64_t j = 0; j < k.rows; j++)
            *out++ = dot(q.at + i * q.cols, keys + j * k.cols, q.cols);
    }
}

/* Whether query row i may see key row j. The oracle's sequences are whole:
 * row i of the queries stands at position i of the keys.                    */
static bool allowed(MaskKind mask, int64_t i, int64_t j)
{
    return mask != MaskCausal || j <= i;
}

void eval_mask(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++) {
        bool seen = allowed(n->mask, i / x.cols % x.rows, i % x.cols);
        out[i] = seen ? x.at[i] : -HUGE_VAL;
    }
}

/* One row, in place. A row that nothing is allowed for gives zeros. */
static void softmax_row(double *x, int64_t n)
{
    double max = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) {
        x[i] = x[i] == -HUGE_VAL ? 0 : exp(x[i] - max);
        sum += x[i];
    }
    for (int64_t i = 0; i < n && sum != 0; i++)
        x[i] /= sum;
}

void eval_softmax(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    for (int64_t r = 0; r < x.heads * x.rows; r++)
        softmax_row(out + r * x.cols, x.cols);
}

/* out[0..d) = the sum of p[j] v_j over m rows, `stride` apart. A key without
 * weight is not multiplied: 0 x inf would be NaN.                           */
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
        mix(p.at + i * p.cols, p.cols, v.at + i / p.rows * v.rows * v.cols,
            v.cols, out + i * v.cols, v.cols);
}

void eval_attention(const Interp *in, const Node *n, double *out)
{
    Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1),
           v = interp_in(in, n, 2);
    double *p = arena_alloc(in->arena, (size_t)k.rows * sizeof *p);
    for (int64_t i = 0; i < q.rows; i++)
        for (int64_t h = 0; h < q.heads; h++, out += v.cols) {
            const double *row = q.at + (h * q.rows + i) * q.cols;
            const double *keys = k.at + h * k.rows * k.cols;
            for (int64_t j = 0; j < k.rows; j++) {
                double s = n->scale * dot(row, keys + j * k.cols, q.cols);
                p[j] = allowed(n->mask, i, j) ? s : -HUGE_VAL;
            }
            softmax_row(p, k.rows);
            mix(p, k.rows, v.at + h * v.rows * v.cols, v.cols, out, v.cols);
        }
}
