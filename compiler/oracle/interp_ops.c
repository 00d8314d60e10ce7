/* interp_ops.c: the oracle's ops on rows, in double, with the formulas of
 * graph/ops.h and without any optimisation. */
#include <math.h>
#include <string.h>

#include "oracle/interp.h"

/* ---- row by row ---- */

void eval_embed(const Interp *in, const Node *n, double *out)
{
    Matrix table = interp_in(in, n, 0), ids = interp_in(in, n, 1);
    int64_t d = table.cols;
    const double *positions = n->nin > 2 && n->in[2] >= 0
                                ? interp_in(in, n, 2).at + n->first * d
                                : NULL;
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
    Matrix table = interp_in(in, n, 0);
    memcpy(out, table.at + n->first * table.cols, (size_t)size * sizeof *out);
}

/* The oracle computes complete sequences, so the first row is row 0. */
void eval_first_row(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    if (x.rows > -n->first)
        memcpy(out - n->first * x.cols, w.at, (size_t)x.cols * sizeof *out);
}

void eval_matmul(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    for (int64_t r = 0; r < x.rows; r++) {
        const double *of = w.at + interp_expert(in, n, r) * w.rows * w.cols;
        for (int64_t c = 0; c < w.rows; c++)
            *out++ = dot(x.at + r * x.cols, of + c * w.cols, x.cols);
    }
}

static double nearest_multiple(double x, double step)
{
    return step > 0 ? rint(x / step) * step : 0;
}

/* Rounds x to the sum of two numbers of bf16. */
static double nearest_two(double x)
{
    const double near = nearest_multiple(x, bf16_step(x));
    return near + nearest_multiple(x - near, bf16_step(x - near));
}

void eval_quantize(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0);
    for (int64_t r = 0; r < x.rows; r++) {
        const double *row = x.at + r * x.cols;
        const Arithmetic a = elem_arithmetic(n->type.elem);
        const bool scaled = row_formats[a].scaled;
        const double all = scaled ? quantize_step(row, x.cols, a) : 0;
        for (int64_t c = 0; c < x.cols; c++) {
            const double step = scaled ? all : bf16_step(row[c]);
            *out++ = a == ArithmeticBf16x3 ? nearest_two(row[c])
                                           : nearest_multiple(row[c], step);
        }
    }
}

/* The oracle computes complete sequences, so a cache write only rounds its rows
 * as they are stored. */
void eval_append(const Interp *in, const Node *n, double *out)
{
    const CacheStore store = in->g->spec->cache_store;
    const Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i += x.cols) {
        const double *row = x.at + i;
        const double scale = quantize_step(row, x.cols, ArithmeticInt8);
        for (int64_t c = 0; c < x.cols; c++) {
            const double step = store == StoreInt8 ? scale : bf16_step(row[c]);
            out[i + c] = store == StoreF32 ? row[c]
                                           : nearest_multiple(row[c], step);
        }
    }
}

/* Returns the row of x that tap t of a convolution reads for output row i; NULL
 * if it is outside x. */
static const double *tap(const Node *n, Matrix x, int64_t i, int64_t t)
{
    const int64_t row = i + n->first + t * n->dilation;
    return row >= n->skipped && row < x.rows ? x.at + row * x.cols : NULL;
}

void eval_taps(const Interp *in, const Node *n, double *out)
{
    const int64_t frames = n->frames > 0 ? n->frames : 1;
    const int64_t stride = n->stride > 0 ? n->stride : 1;
    Matrix x = interp_in(in, n, 0);
    x.rows *= frames;
    x.cols /= frames;
    for (int64_t i = 0; i < x.rows; i += stride)
        for (int64_t t = 0; t < n->taps; t++)
            for (int64_t c = 0; c < x.cols; c++)
                *out++ = tap(n, x, i, t) ? tap(n, x, i, t)[c] : 0;
}

/* Copies patch number `at` of an image that has `lines` lines of pixels. */
static void put_patch(const Node *n, const double *image, int64_t lines,
                      int64_t at, double *out)
{
    const int64_t columns = n->across * n->wide;
    for (int64_t c = 0; c < n->channels; c++)
        for (int64_t y = 0; y < n->tall; y++)
            for (int64_t x = 0; x < n->wide; x++)
                *out++ =
                    image[(c * lines + at / n->across * n->tall + y) * columns
                          + at % n->across * n->wide + x];
}

void eval_patches(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0);
    const int64_t down = x.rows < n->first ? 0
                                           : (x.rows - n->first) / n->across;
    memset(out, 0, (size_t)size_of(x) * sizeof *out);
    for (int64_t i = 0; i < down * n->across; i++)
        put_patch(n, x.at + n->first * x.cols, down * n->tall, i,
                  out + (n->first + i) * x.cols);
}

void eval_depthwise(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    for (int64_t i = 0; i < x.rows; i++)
        for (int64_t c = 0; c < x.cols; c++, out++) {
            *out = n->nin > 2 ? interp_in(in, n, 2).at[c] : 0;
            for (int64_t t = 0; t < n->taps; t++)
                if (tap(n, x, i, t))
                    *out += w.at[c * w.cols + t] * tap(n, x, i, t)[c];
        }
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

void eval_scale_columns(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), g = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = g.at[i % x.cols % g.cols] * x.at[i];
}

void eval_add(const Interp *in, const Node *n, double *out)
{
    Matrix a = interp_in(in, n, 0), b = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(a); i++)
        out[i] = a.at[i] + b.at[i];
}

void eval_mul(const Interp *in, const Node *n, double *out)
{
    Matrix a = interp_in(in, n, 0), b = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(a); i++)
        out[i] = a.at[i] * b.at[i];
}

void eval_clip(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = x.at[i] < -n->cap ? -n->cap
               : x.at[i] > n->cap  ? n->cap
                                   : x.at[i];
}

double activation(Activation act, double x)
{
    switch (act) {
#define ACT(name, text, gated, other, formula) \
    case Act##name: return formula;
#include "spec/fields/activations.h"
    case ActCount: break;
    }
    die("oracle: no such activation");
}

void eval_activate(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = activation(n->act, x.at[i]);
}

void eval_gate(const Interp *in, const Node *n, double *out)
{
    Matrix a = interp_in(in, n, 0), b = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(a); i++)
        out[i] = activation(n->act, a.at[i])
               * activation(act_text[n->act].other, b.at[i]);
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
            y += bias[interp_expert(in, n, i / w.rows) * w.rows + i % w.rows];
        y = activation(n->act, y);
        if (rest)
            y += rest[i];
        out[i] = y;
    }
}

/* Normalises one row in place: gamma x / sqrt(variance + eps) + beta. NormLayer
 * first subtracts the mean from x. The variance is the biased one, as in the
 * papers. beta may be NULL. */
static void norm_row(const Node *n, double *x, int64_t d, const double *gamma,
                     const double *beta)
{
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < d && n->norm == NormLayer; c++)
        mean += x[c] / (double)d;
    for (int64_t c = 0; c < d; c++)
        variance += (x[c] - mean) * (x[c] - mean);
    variance /= (double)d;
    for (int64_t c = 0; c < d; c++)
        x[c] = (x[c] - mean) / sqrt(variance + n->eps) * gamma[c]
             + (beta ? beta[c] : 0);
}

/* Normalises each row of x. gamma is input k of the node, and beta, if there is
 * one, input k + 1. */
static void norm_rows(const Interp *in, const Node *n, int k, double *x,
                      int64_t rows, int64_t cols)
{
    const double *beta = n->nin > k + 1 ? interp_in(in, n, k + 1).at : NULL;
    for (int64_t r = 0; r < rows; r++)
        norm_row(n, x + r * cols, cols, interp_in(in, n, k).at, beta);
}

void eval_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    norm_rows(in, n, 1, out, x.rows, x.cols);
}

void eval_add_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    eval_add(in, n, out);
    norm_rows(in, n, 2, out, x.rows, x.cols);
}

/* Each head of a row is normalised separately. Gamma and beta have a row for
 * each head, or one for all. */
void eval_head_norm(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), gamma = interp_in(in, n, 1);
    const double *beta = n->nin > 2 ? interp_in(in, n, 2).at : NULL;
    const int64_t d = x.cols / n->heads;
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    for (int64_t i = 0; i < x.rows * n->heads; i++) {
        const int64_t at = i * d % size_of(gamma);
        norm_row(n, out + i * d, d, gamma.at + at, beta ? beta + at : NULL);
    }
}

void eval_l2_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    for (int64_t r = 0; r < x.rows; r++) {
        const double *row = x.at + r * x.cols;
        double length = sqrt(dot(row, row, x.cols));
        for (int64_t c = 0; c < x.cols; c++)
            *out++ = row[c] / fmax(length, n->eps);
    }
}

/* Rotates one head of one row in place. The angle of pair j has the cosine
 * turn[j] and the sine turn[dims / 2 + j]. */
static void rotate_head(const Node *n, double *x, const double *turn)
{
    int64_t half = n->dims / 2;
    bool halves = n->layout == LayoutHalves;
    for (int64_t j = 0; j < half; j++) {
        double *a = halves ? x + j : x + 2 * j;
        double *b = halves ? a + half : a + 1;
        double u = *a, v = *b, cosine = turn[j], sine = turn[half + j];
        *a = u * cosine - v * sine;
        *b = u * sine + v * cosine;
    }
}

void eval_rotate(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), table = interp_in(in, n, 1);
    int64_t d = x.cols / n->heads;
    memcpy(out, x.at, (size_t)size_of(x) * sizeof *out);
    for (int64_t r = 0; r < x.rows; r++)
        for (int64_t h = 0; h < n->heads; h++)
            rotate_head(n, out + r * x.cols + h * d, table.at + r * table.cols);
}
