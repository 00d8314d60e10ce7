/* gates.c: compares values computed by a backend with those of the oracle. Each
 * op has a row in the table of gates. Every comparison is written such that NaN
 * fails. */
#include "oracle/gates.h"

#include <math.h>

#include "oracle/interp.h"

/* Returns error / tolerance: 0 for equal values, also for infinities; INFINITY
 * if the quotient is NaN. */
static double error_ratio(double want, double got, double tolerance)
{
    if (want == got)
        return 0;
    double ratio = fabs(want - got) / tolerance;
    return ratio <= HUGE_VAL ? ratio : HUGE_VAL;
}

bool compare_values(Comparison *c, const double *want, const double *got,
                    const double *tolerance, int64_t n)
{
    bool worse = false;
    for (int64_t i = 0; i < n; i++) {
        double ratio = error_ratio(want[i], got[i], tolerance[i]);
        c->failed += !(ratio <= 1);
        c->zeros += want[i] == 0;
        if (ratio > c->ratio || c->count + i == 0) {
            worse = true;
            c->ratio = ratio;
            c->worst = i;
            c->want = want[i];
            c->got = got[i];
        }
    }
    c->count += n;
    return worse;
}

bool is_conclusive(int64_t zeros, int64_t count)
{
    return count > 0 && zeros * 10 <= count * 9;
}

bool compare_passed(const Comparison *c)
{
    return c->failed == 0 && is_conclusive(c->zeros, c->count);
}

/* ---- gates ---- */

typedef void Gate(const Interp *in, const Node *n, double *out);

typedef struct {
    double eps;         /* tolerance, in f32 roundings of this number: */
    unsigned magnitude; /* the op's result for the absolute values of these
                         * inputs (bits); 0: the result itself */
    bool sum;           /* the result is a sum over the columns of in[0]: if it
                         * has fewer than `eps` terms, their number replaces
                         * `eps`, because it is the proven bound */
    double least;       /* minimum of the tolerance, absolute */
    Gate *gate; /* computes the tolerance; NULL: it follows from `eps` to
                 * `least` */
} GateRow;

static Gate gate_quantize, gate_norm, gate_function, gate_gate, gate_softcap,
    gate_rotate, gate_bias, gate_linear, gate_scores, gate_attention;

enum { In0 = 1, In1 = 2, In2 = 4, In3 = 8 };

/* smallest normal f32; smaller numbers have no relative precision */
#define TINY 0x1p-126

/* Macros for the column `gate` of graph/ops.h. EXACT: values are moved or
 * selected without rounding. ROUNDED, ABOVE: roundings of the result. SIZED:
 * roundings of the op's result for absolute inputs; SUMMED: the same for a sum.
 * BY, SUMMED_BY: roundings of the size that a function below returns. */
/* clang-format off */
#define EXACT               { 0 }
#define ROUNDED(eps)        { eps, 0, false, TINY, NULL }
#define ABOVE(eps, least)   { eps, 0, false, least, NULL }
#define SIZED(eps, inputs)  { eps, inputs, false, TINY, NULL }
#define SUMMED(eps, inputs) { eps, inputs, true, TINY, NULL }
#define BY(eps, f)          { eps, 0, false, TINY, gate_##f }
#define SUMMED_BY(eps, f)   { eps, 0, true, TINY, gate_##f }

static const GateRow gates[OpCount] = {
#define OP(id, name, min, max, class, formula, shape, in_place, flops, value,  \
           gate, ...)                                                          \
    [Op##id] = gate,
#include "graph/ops.h"
};
/* clang-format on */

/* Returns a copy of `in` in which absolute values replace the inputs of `n`
 * whose bits are in `set`. The copy is allocated in `a`. */
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

typedef struct { /* columns that are normalised together */
    const Node *n;
    const double *x, *more;     /* d columns; those of a residual, or NULL */
    const double *gamma, *beta; /* scale and bias; beta may be NULL */
    int64_t d;
} NormRow;

/* Writes the size of the numbers that are rounded for each normalised value. A
 * value may be near zero although the numbers subtracted are not, so |x|, the
 * mean and beta count too. */
static void norm_size(const NormRow *row, double *out)
{
    const double *x = row->x, *more = row->more;
    const int64_t d = row->d;
    double mean = 0, size = 0, variance = 0;
    for (int64_t c = 0; c < d; c++) {
        mean += (x[c] + (more ? more[c] : 0)) / (double)d;
        size += (fabs(x[c]) + (more ? fabs(more[c]) : 0)) / (double)d;
    }
    mean = row->n->norm == NormRms ? 0 : mean;
    for (int64_t c = 0; c < d; c++)
        variance += pow(x[c] + (more ? more[c] : 0) - mean, 2) / (double)d;
    for (int64_t c = 0; c < d; c++) {
        double here = fabs(x[c]) + (more ? fabs(more[c]) : 0);
        out[c] = fabs(row->gamma[c]) * (here + size)
                   / sqrt(variance + row->n->eps)
               + (row->beta ? fabs(row->beta[c]) : 0);
    }
}

static void gate_norm(const Interp *in, const Node *n, double *out)
{
    const bool add = n->op == OpAddNorm;
    const int g = add ? 2 : 1;
    Matrix x = interp_in(in, n, 0);
    const double *rest = add ? interp_in(in, n, 1).at : NULL;
    const Matrix gamma = interp_in(in, n, g);
    const int64_t gammas = gamma.rows * gamma.cols;
    const double *beta = n->nin > g + 1 ? interp_in(in, n, g + 1).at : NULL;
    const int64_t d = n->op == OpHeadNorm ? x.cols / n->heads : x.cols;
    for (int64_t i = 0; i < x.rows * x.cols; i += d)
        norm_size(&(NormRow){ n, x.at + i, rest ? rest + i : NULL,
                              gamma.at + i % gammas,
                              beta ? beta + i % gammas : NULL, d },
                  out + i);
}

/* ---- functions of one number ---- */

static int64_t size_in(const Interp *in, const Node *n, int k)
{
    return interp_size(in, n->in[k]);
}

static void gate_function(const Interp *in, const Node *n, double *out)
{
    const double *x = in->value[n->in[0]];
    for (int64_t i = 0; i < size_in(in, n, 0); i++)
        out[i] = 1 + fabs(activation(n->act, x[i]));
}

static void gate_gate(const Interp *in, const Node *n, double *out)
{
    const double *a = in->value[n->in[0]], *b = in->value[n->in[1]];
    for (int64_t i = 0; i < size_in(in, n, 0); i++)
        out[i] = (1 + fabs(activation(n->act, a[i])))
               * fabs(activation(act_text[n->act].other, b[i]));
}

static void gate_softcap(const Interp *in, const Node *n, double *out)
{
    const double *x = in->value[n->in[0]];
    for (int64_t i = 0; i < size_in(in, n, 0); i++)
        out[i] = n->cap * (1 + fabs(tanh(x[i] / n->cap)));
}

static void gate_bias(const Interp *in, const Node *n, double *out)
{
    const double *x = in->value[n->in[0]];
    Interp copy = *in;
    interp_node(&copy, (int)(n - in->g->nodes.at));
    const double *y = copy.value[n - in->g->nodes.at];
    for (int64_t i = 0; i < size_in(in, n, 0); i++)
        out[i] = fabs(y[i]) + 2 * fabs(y[i] - x[i]);
}

/* Writes, for each element, the larger number of its pair, multiplied by the
 * length of (cosine, sine), which is not 1 if the table is scaled. */
static void gate_rotate(const Interp *in, const Node *n, double *out)
{
    Matrix x = interp_in(in, n, 0), table = interp_in(in, n, 1);
    const int64_t d = x.cols / n->heads, half = n->dims / 2;
    const bool halves = n->layout == LayoutHalves;
    const double length = hypot(table.at[0], table.at[half]);
    for (int64_t at = 0; at < x.rows * x.cols; at += d)
        for (int64_t j = 0; j < d; j++) {
            int64_t other = j >= n->dims ? j
                          : halves       ? (j < half ? j + half : j - half)
                                         : j ^ 1;
            out[at + j] = fmax(fabs(x.at[at + j]), fabs(x.at[at + other]))
                        * (j < n->dims ? length : 1);
        }
}

/* ---- integers ---- */

/* A number within 4 ulp of the middle between two integers, or two bf16, may be
 * rounded to either. All other numbers differ only by the rounding of the
 * scale. Both numbers of bf16x3 together have 16 bits at least. */
static void gate_quantize(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0);
    const Arithmetic a = elem_arithmetic(n->type.elem);
    for (int64_t i = 0; i < x.rows * x.cols; i++) {
        if (a == ArithmeticBf16x3) {
            out[i] = (0x1p-17 * fabs(x.at[i]) + 0x1p-55) / F32_EPS;
            continue;
        }
        const double *row = x.at + i / x.cols * x.cols;
        const double step = row_formats[a].scaled
                              ? quantize_step(row, x.cols, a)
                              : bf16_step(x.at[i]);
        const double q = step > 0 ? fabs(x.at[i]) / step : 0;
        const double middle = fabs(q - floor(q) - 0.5);
        const bool either = middle <= 4 * F32_EPS * fmax(q, 1);
        out[i] = either ? step * (1 / F32_EPS + 2 * q) : 2 * step * q;
    }
}

/* ---- compositions ---- */

/* Returns the value that the node would have without its activation and with
 * absolute values of the inputs in `set`. If the node is a sum, this is the sum
 * of its terms' sizes. */
static const double *magnitude(const Interp *in, const Node *n, unsigned set,
                               Arena *a)
{
    const int node = (int)(n - in->g->nodes.at);
    Graph g = *in->g;
    Interp positive = absolute(in, n, set, a);
    g.nodes.at = arena_alloc(a, (size_t)g.nodes.n * sizeof *g.nodes.at);
    for (int i = 0; i < g.nodes.n; i++)
        g.nodes.at[i] = in->g->nodes.at[i];
    g.nodes.at[node].act = ActNone;
    positive.g = &g;
    interp_node(&positive, node);
    return positive.value[node];
}

static bool sums_integers(const Interp *in, const Node *n)
{
    return n->nin > 0
        && row_formats[elem_arithmetic(in->g->nodes.at[n->in[0]].type.elem)]
               .scaled;
}

/* True for a product in bf16x3. It leaves out the products of both second
 * numbers, each 2^-16 of the product at most. A weight with a folded factor is
 * split after the factor; the oracle's is split before, and each may lack 2^-17
 * of it. */
static bool splits_numbers(const Interp *in, const Node *n)
{
    return (n->op == OpMatmul || n->op == OpLinear)
        && elem_arithmetic(in->g->nodes.at[n->in[0]].type.elem)
               == ArithmeticBf16x3;
}

/* Returns the size of the numbers that are rounded in an integer product. The
 * sum is exact, whatever the size of its terms; only the scaled sum, the bias
 * and the residual are rounded. The factor 0x1p-28 covers the oracle, which
 * rounds every term, but in double. */
static const double *integer_size(const Interp *in, const Node *n, Arena *a)
{
    const int64_t size = interp_size(in, (int)(n - in->g->nodes.at));
    const double *terms = magnitude(in, n, In0 | In1, a);
    double *out = arena_alloc(a, (size_t)size * sizeof *out);
    eval_matmul(in, n, out);
    for (int64_t i = 0; i < size; i++) {
        const int64_t columns = interp_in(in, n, 1).rows;
        out[i] = fabs(out[i]) + fabs(terms[i]) * 0x1p-28;
        if (n->has_bias)
            out[i] += fabs(interp_in(in, n, 2)
                               .at[interp_expert(in, n, i / columns) * columns
                                   + i % columns]);
        if (n->has_residual)
            out[i] += fabs(interp_in(in, n, 3).at[i]);
    }
    return out;
}

/* Returns the slope of an activation at x > 0, but at least 1.2, the maximum of
 * all slopes that are bounded. */
static double slope(Activation act, double x)
{
    const double step = x * 0x1p-10;
    const double rise = activation(act, x + step) - activation(act, x);
    return step > 0 ? fmax(rise / step, 1.2) : 1.2;
}

/* Multiplies the tolerance of the sum by the maximum slope of the activation
 * up to the size of the sum, and adds the activation's own tolerance. */
static void gate_linear(const Interp *in, const Node *n, double *out)
{
    Arena *a = arena_new();
    const bool smooth = n->act != ActNone && n->act != ActRelu;
    const double *sum = sums_integers(in, n)
                          ? integer_size(in, n, a)
                          : magnitude(in, n, In0 | In1 | In2 | In3, a);
    const int64_t size = interp_size(in, (int)(n - in->g->nodes.at));
    for (int64_t i = 0; i < size; i++)
        out[i] = smooth ? slope(n->act, fabs(sum[i])) * fabs(sum[i])
                              + FUNCTION / 8 * (1 + fabs(sum[i]))
                        : sum[i];
    arena_free(a);
}

/* Returns the size of a term of a score. The rounding error of a score is at
 * most 8 eps of the sum of its sizes. For a dot product a size is |q k|. A term
 * of an additive score is v tanh(q + k): per unit of |v| it adds one rounding
 * of q + k, which tanh does not enlarge, and at most 2 FUNCTION for tanh
 * itself. */
static double term_size(ScoreType type, double v, double q, double k)
{
    switch (type) {
#define SCORE(name, word, vector, flops, value, size, ...) \
    case Score##name: return fabs(size);
#include "spec/fields/score_forms.h"
    default: return 0;
    }
}

static double score_size(const Interp *in, const Node *n, int64_t head,
                         int64_t row, int64_t key)
{
    const Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1);
    const double *x = q.at + (head * q.rows + row) * q.cols;
    const double *y = k.at
                    + (head / (q.heads / k.heads) * k.rows + key) * k.cols;
    const double *v = has_score_vector(n)
                        ? in->value[score_input(n)] + head * q.cols
                        : NULL;
    double sum = 0;
    for (int64_t c = 0; c < q.cols; c++)
        sum += term_size(n->score, v ? v[c] : 0, x[c], y[c]);
    return sum;
}

/* For a sum of n < 8 terms, gate_node() reduces the tolerance to n eps. This
 * undoes the reduction for additive scores, because the error of tanh does not
 * decrease with the number of terms. */
static void gate_scores(const Interp *in, const Node *n, double *out)
{
    const Matrix q = interp_in(in, n, 0), k = interp_in(in, n, 1);
    const double d = (double)q.cols;
    const double few[] = {
#define SCORE(name, word, vector, flops, value, size, few, ...) few,
#include "spec/fields/score_forms.h"
    };
    for (int64_t i = 0; i < q.heads * q.rows; i++)
        for (int64_t j = 0; j < k.rows; j++)
            *out++ = few[n->score]
                   * score_size(in, n, i / q.rows, i % q.rows, j);
}

/* Returns the size of a query's largest score, because a rounding error of a
 * score is a relative error of its attention weight. */
static double largest_score(const Interp *in, const Node *n, int64_t head,
                            int64_t row)
{
    const int64_t keys = interp_in(in, n, 1).rows;
    double most = 0;
    for (int64_t j = 0; j < keys; j++)
        most = fmax(most, score_size(in, n, head, row, j));
    return most * fabs(n->scale);
}

/* The tolerance is sum p |v| times 64 eps plus 8 eps per unit of the largest
 * score, because errors of scores are errors of the weights. With scores of 32,
 * which occur in trained models, this error alone was measured as 60 eps. */
static void gate_attention(const Interp *in, const Node *n, double *out)
{
    Arena *a = arena_new();
    Matrix q = interp_in(in, n, 0);
    const double *sum = magnitude(in, n, In2, a);
    const int64_t d_v = interp_in(in, n, 2).cols;
    for (int64_t row = 0; row < q.rows; row++)
        for (int64_t head = 0; head < q.heads; head++) {
            const double eps = 64 + 8 * largest_score(in, n, head, row);
            for (int64_t c = 0; c < d_v; c++, out++, sum++)
                *out = eps * fabs(*sum);
        }
    arena_free(a);
}

/* Returns the number of terms in the sum for one element, including bias and
 * residual. */
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
    if (row->sum && !sums_integers(in, n))
        eps = fmin(row->eps, terms(in, n)) * F32_EPS;
    if (splits_numbers(in, n))
        eps += 0x1p-15;
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

/* ---- end to end ---- */

/* Returns log(sum(exp(x))) of one row. */
static double log_sum_exp(const double *x, int64_t n)
{
    double max = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++)
        sum += exp(x[i] - max);
    return max + log(sum);
}

/* Returns KL(want || got) of the softmax of one row. */
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

/* Returns the standard deviation of x. If the values are equal within f32,
 * returns their root mean square. */
static double deviation(const double *x, int64_t n)
{
    double mean = 0, size = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += x[i] / (double)n;
        size += x[i] * x[i] / (double)n;
    }
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sqrt(square <= F32_EPS * F32_EPS * size ? size : square);
}

const ModelGate arithmetic_gates[Arithmetics] = {
    [ArithmeticF32] = { 1e-4, 1e-10, 1e-9 },
    [ArithmeticInt8] = { 4, 0.1, 2 },
    [ArithmeticInt15] = { 0.02, 1e-6, 1e-5 },
    [ArithmeticBf16Dp] = { 0.5, 1e-2, 1e-2 },
    [ArithmeticBf16Amx] = { 0.5, 1e-2, 1e-2 },
    [ArithmeticBf16x3] = { 3e-3, 1e-7, 1e-6 },
};
const ModelGate rounding_gates[Dtypes] = {
#define GATE(...) { __VA_ARGS__ }
#define FORMAT(name, word, group, line, ending, shared, steps, gate, ...) gate,
#include "runtime/weights/format_rows.h"
};

void hold_to(ModelComparison *c, const ModelGate *gate)
{
    c->gate = gate;
    c->failed = !(c->max_error <= gate->max_error && c->nmse <= gate->nmse
                  && c->divergence <= gate->divergence);
    c->passed = !c->failed && is_conclusive(c->zeros, c->count);
}

ModelComparison compare_model(const double *want, const float *got,
                              int64_t rows, int64_t cols)
{
    ModelComparison c = { .count = rows * cols };
    double std = deviation(want, rows * cols), error = 0, square = 0;
    for (int64_t i = 0; i < rows * cols; i++) {
        double d = (double)got[i] - want[i];
        double ratio = error_ratio(want[i], (double)got[i], std);
        error += d * d;
        square += want[i] * want[i];
        c.zeros += want[i] == 0;
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
    hold_to(&c, &arithmetic_gates[ArithmeticF32]);
    return c;
}
