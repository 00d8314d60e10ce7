/* compare.c: comparing what a backend computed with what the oracle says. Each
 * op has one row in the table of gates. Every test is written so that a NaN
 * fails it.                                                                 */
#include "compare.h"

#include <math.h>

#include "interp.h"

/* Error over tolerance. Equal values, infinities among them, give 0; what
 * can't be put in numbers gives INFINITY.                                   */
static double error_ratio(double want, double got, double tolerance)
{
    if (want == got)
        return 0;
    double ratio = fabs(want - got) / tolerance;
    return ratio <= HUGE_VAL ? ratio : HUGE_VAL;
}

bool compare_values(Comparison *c, const double *want, const float *got,
                    const double *tolerance, int64_t n)
{
    bool worse = false;
    for (int64_t i = 0; i < n; i++) {
        double ratio = error_ratio(want[i], (double)got[i], tolerance[i]);
        c->failed += !(ratio <= 1);
        c->zeros += want[i] == 0;
        if (ratio > c->ratio || c->count + i == 0) {
            worse = true;
            c->ratio = ratio;
            c->worst = i;
            c->want = want[i];
            c->got = (double)got[i];
        }
    }
    c->count += n;
    return worse;
}

bool compare_passed(const Comparison *c)
{
    return c->failed == 0 && c->count > 0 && c->zeros * 10 <= c->count * 9;
}

/* ------------------------------------------------------------------ gates */

typedef void Gate(const Interp *in, const Node *n, double *out);

typedef struct {
    double eps;          /* tolerance in roundings of f32 .. */
    unsigned magnitude;  /* .. of the op on the absolute values of these
                            inputs (bits); 0: of the result */
    bool sum;            /* a sum over in[0]'s columns: with fewer terms than
                            `eps`, their number is the proven bound */
    double least;        /* a tolerance that is always granted */
    Gate *gate;          /* NULL: the above says it all */
} GateRow;

static Gate gate_norm;

enum { In0 = 1, In1 = 2, In2 = 4, In3 = 8 };

/* Below the normal numbers f32 has no relative precision to ask for. */
#define TINY 0x1p-126

/* Ops without a row move or select values: nothing may change. */
static const GateRow gates[OpCount] = {
    [OpEmbed]     = { 2, In0 | In2, false, TINY, NULL },
    [OpPosition]  = { 1, 0, false, TINY, NULL },
    [OpMatmul]    = { 8, In0 | In1, true, TINY, NULL },
    [OpLinear]    = { 8, In0 | In1 | In2 | In3, true, TINY, NULL },
    [OpBias]      = { 1, 0, false, TINY, NULL },
    [OpScale]     = { 2, 0, false, TINY, NULL },
    [OpAdd]       = { 1, 0, false, TINY, NULL },
    [OpNorm]      = { 8, 0, false, TINY, gate_norm },
    [OpAddNorm]   = { 8, 0, false, TINY, gate_norm },
    [OpScores]    = { 8, In0 | In1, true, TINY, NULL },
    [OpSoftmax]   = { 64, 0, false, 1e-9, NULL },
    [OpContext]   = { 64, In0 | In1, true, TINY, NULL },
    [OpAttention] = { 64, In2, false, TINY, NULL },
};

/* `in` with the inputs of `n` that `set` names replaced by their absolute
 * values, kept in `a`.                                                      */
static Interp absolute(const Interp *in, const Node *n, unsigned set, Arena *a)
{
    int nodes = in->g->nodes.n;
    const double **value = arena_alloc(a, (size_t)nodes * sizeof *value);
    for (int i = 0; i < nodes; i++)
        value[i] = in->value[i];
    for (int i = 0; i < n->nin; i++) {
        if (!(set >> i & 1) || n->in[i] < 0)
            continue;
        int64_t size = interp_size(in, n->in[i]);
        double *x = arena_alloc(a, (size_t)size * sizeof *x);
        for (int64_t j = 0; j < size; j++)
            x[j] = fabs(in->value[n->in[i]][j]);
        value[n->in[i]] = x;
    }
    Interp out = *in;
    out.value = value;
    out.arena = a;
    return out;
}

/* A normalised value may be near zero while what was subtracted is not: the
 * roundings are those of |x|, of the mean, and of beta.                     */
static void gate_norm(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0);
    const double *rest = n->op == OpAddNorm ? interp_in(in, n, 1).at : NULL;
    const double *gamma = interp_in(in, n, n->nin - 2).at;
    const double *beta = interp_in(in, n, n->nin - 1).at;
    for (int64_t r = 0; r < x.rows; r++) {
        double mean = 0, size = 0, variance = 0;
        const double *row = x.at + r * x.cols;
        const double *more = rest ? rest + r * x.cols : NULL;
        for (int64_t c = 0; c < x.cols; c++) {
            double add = more ? more[c] : 0;
            mean += (row[c] + add) / (double)x.cols;
            size += (fabs(row[c]) + fabs(add)) / (double)x.cols;
        }
        for (int64_t c = 0; c < x.cols; c++) {
            double y = row[c] + (more ? more[c] : 0) - mean;
            variance += y * y / (double)x.cols;
        }
        for (int64_t c = 0; c < x.cols; c++) {
            double here = fabs(row[c]) + (more ? fabs(more[c]) : 0);
            *out++ = fabs(gamma[c]) * (here + size) / sqrt(variance + n->eps)
                   + fabs(beta[c]);
        }
    }
}

/* Terms of the sum that makes one element, bias and residual included. */
static double terms(const Interp *in, const Node *n)
{
    return (double)interp_in(in, n, 0).cols + n->has_bias + n->has_residual;
}

void gate_node(const Interp *in, int node, const double *want, double *out)
{
    const Node *n = &in->g->nodes.at[node];
    const GateRow *row = &gates[n->op];
    int64_t size = interp_size(in, node);
    double eps = row->eps * F32_EPS;
    if (row->sum)
        eps = fmin(row->eps, terms(in, n)) * F32_EPS;
    Arena *a = arena_new();
    const double *scale = want;
    if (row->gate) {
        row->gate(in, n, out);
        scale = out;
    } else if (row->magnitude) {
        Interp positive = absolute(in, n, row->magnitude, a);
        interp_node(&positive, node);
        scale = positive.value[node];
    }
    for (int64_t i = 0; i < size; i++)
        out[i] = fmax(eps * fabs(scale[i]), row->least);
    arena_free(a);
}

/* ------------------------------------------------------------- end to end */

/* log(sum(exp(x))), by rows. */
static double log_sum_exp(const double *x, int64_t n)
{
    double max = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - max);
    return max + log(sum);
}

/* KL(want || got) of one row's distributions. */
static double divergence(const double *want, const float *got, int64_t n,
                         Arena *a)
{
    double *g = arena_alloc(a, (size_t)n * sizeof *g), sum = 0;
    for (int64_t i = 0; i < n; i++)
        g[i] = (double)got[i];
    double lw = log_sum_exp(want, n), lg = log_sum_exp(g, n);
    for (int64_t i = 0; i < n; i++)
        sum += exp(want[i] - lw) * ((want[i] - lw) - (g[i] - lg));
    return sum;
}

static double deviation(const double *x, int64_t n)
{
    double mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sqrt(square);
}

ModelComparison compare_model(const double *want, const float *got,
                              int64_t rows, int64_t cols)
{
    ModelComparison c = { 0 };
    double std = deviation(want, rows * cols), error = 0, square = 0;
    int64_t zeros = 0;
    for (int64_t i = 0; i < rows * cols; i++) {
        double d = (double)got[i] - want[i];
        double ratio = error_ratio(want[i], (double)got[i], std);
        error += d * d;
        square += want[i] * want[i];
        zeros += want[i] == 0;
        if (ratio > c.max_error || i == 0) {
            c.max_error = ratio;
            c.worst = i;
            c.want = want[i];
            c.got = (double)got[i];
        }
    }
    c.nmse = error == 0 ? 0 : error / square;
    Arena *a = arena_new();
    for (int64_t r = 0; r < rows; r++) {
        double d = divergence(want + r * cols, got + r * cols, cols, a);
        if (!(d <= c.divergence) && !isnan(c.divergence))
            c.divergence = d;
    }
    arena_free(a);
    c.passed = zeros * 10 <= rows * cols * 9 && rows * cols > 0
            && c.max_error <= 1e-4 && c.nmse <= 1e-10
            && c.divergence <= 1e-9;
    return c;
}
