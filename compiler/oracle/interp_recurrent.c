/* interp_recurrent.c: the oracle's recurrent cells, in double, with the
 * formulas and gate order of torch.nn's RNN, GRU and LSTM. Each number has the
 * square of its expected error in f32: that of its own op, plus those of its
 * operands times the squared slope. Rounding errors are independent, so their
 * squares add up. */
#include <math.h>
#include <string.h>

#include "oracle/interp.h"

typedef struct {
    double at, off2; /* value; square of its expected error, in f32 roundings */
} Rounded;

static double square(double x)
{
    return x * x;
}

static Rounded exact(double x)
{
    return (Rounded){ x, 0 };
}

static Rounded plus(Rounded a, Rounded b)
{
    const double y = a.at + b.at;
    return (Rounded){ y, a.off2 + b.off2 + square(y) };
}

static Rounded times(Rounded a, Rounded b)
{
    const double y = a.at * b.at;
    return (Rounded){ y, square(b.at) * a.off2 + square(a.at) * b.off2
                             + square(y) };
}

static Rounded function(double y, double slope, Rounded x)
{
    return (Rounded){ y, square(slope) * x.off2
                             + square(FUNCTION * (1 + fabs(y))) };
}

static Rounded sigmoid_gate(Rounded x)
{
    const double y = 1 / (1 + exp(-x.at));
    return function(y, y * (1 - y), x);
}

static Rounded tanh_of(Rounded x)
{
    const double y = tanh(x.at);
    return function(y, 1 - y * y, x);
}

/* Returns the dot product of w and h. Its own error is the one that the gate of
 * a product allows. */
static Rounded product(const double *w, const Rounded *h, int64_t d)
{
    Rounded sum = { 0, 0 };
    double size = 0;
    for (int64_t j = 0; j < d; j++) {
        sum.at += w[j] * h[j].at;
        sum.off2 += square(w[j]) * h[j].off2;
        size += fabs(w[j] * h[j].at);
    }
    sum.off2 += square(fmin(8, (double)d) * size);
    return sum;
}

typedef struct {      /* one row of a cell with d columns; element g d + j is
                       * for gate g of column j */
    const double *x;  /* W x + bias */
    const Rounded *u; /* U h + bias */
    int64_t d;
} CellRow;

/* Returns the pre-activation of gate g in column j. */
static Rounded gate_sum(const CellRow *r, int64_t g, int64_t j)
{
    return plus(exact(r->x[g * r->d + j]), r->u[g * r->d + j]);
}

static void simple_cell(const Node *n, const CellRow *r, Rounded *h)
{
    for (int64_t j = 0; j < r->d; j++) {
        const Rounded x = gate_sum(r, 0, j);
        h[j] = n->act == ActRelu ? (Rounded){ activation(n->act, x.at), x.off2 }
                                 : tanh_of(x);
    }
}

/* The gates are r, z, n. */
static void gru_cell(const CellRow *r, Rounded *h)
{
    const int64_t d = r->d;
    for (int64_t j = 0; j < d; j++) {
        const Rounded reset = sigmoid_gate(gate_sum(r, 0, j));
        const Rounded keep = sigmoid_gate(gate_sum(r, 1, j));
        const Rounded fresh = tanh_of(
            plus(exact(r->x[2 * d + j]), times(reset, r->u[2 * d + j])));
        const Rounded rest = { 1 - keep.at, keep.off2 };
        h[j] = plus(times(rest, fresh), times(keep, h[j]));
    }
}

/* The gates are i, f, g, o. */
static void lstm_cell(const CellRow *r, Rounded *h, Rounded *c)
{
    for (int64_t j = 0; j < r->d; j++) {
        const Rounded in = sigmoid_gate(gate_sum(r, 0, j));
        const Rounded forget = sigmoid_gate(gate_sum(r, 1, j));
        const Rounded fresh = tanh_of(gate_sum(r, 2, j));
        const Rounded out = sigmoid_gate(gate_sum(r, 3, j));
        c[j] = plus(times(forget, c[j]), times(in, fresh));
        h[j] = times(out, tanh_of(c[j]));
    }
}

/* Computes U h + b. */
static void of_state(Matrix w, const double *b, const Rounded *h, Rounded *u)
{
    for (int64_t i = 0; i < w.rows; i++) {
        u[i] = product(w.at + i * w.cols, h, w.cols);
        if (b)
            u[i] = plus(u[i], exact(b[i]));
    }
}

/* Runs the cell over the rows and updates the states h and c in place. */
static void scan(const Interp *in, const Node *n, Rounded *out, Rounded *h,
                 Rounded *c)
{
    const Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    const double *b = n->nin - n->sourced > 2 ? interp_in(in, n, 2).at : NULL;
    const size_t bytes = (size_t)w.cols * sizeof *out;
    Arena *a = arena_new();
    Rounded *u = arena_alloc(a, (size_t)w.rows * sizeof *u);
    for (int64_t t = 0; t < x.rows; t++) {
        const int64_t row = n->reversed ? x.rows - 1 - t : t;
        const CellRow r = { x.at + row * x.cols, u, w.cols };
        of_state(w, b, h, u);
        switch (n->cell) {
        case CellSimple: simple_cell(n, &r, h); break;
        case CellGru:    gru_cell(&r, h); break;
        case CellLstm:   lstm_cell(&r, h, c); break;
        }
        memcpy(out + row * w.cols, h, bytes);
    }
    arena_free(a);
}

/* Returns the initial states: 0, or the final states of the source, which are
 * computed by another scan. */
static const Rounded *states(const Interp *in, const Node *n, Arena *a)
{
    const Matrix x = interp_in(in, n, 0);
    const int64_t d = interp_in(in, n, 1).cols;
    Rounded *h = arena_alloc(a, (size_t)d * sizeof *h);
    Rounded *c = arena_alloc(a, (size_t)d * sizeof *c);
    Rounded *out = arena_alloc(a, (size_t)(x.rows * d) * sizeof *out);
    if (n->sourced) {
        const Node *source = &in->g->nodes.at[n->in[n->nin - 1]];
        const Matrix rows = interp_in(in, n, n->nin - 1);
        scan(in, source, arena_alloc(a, (size_t)size_of(rows) * sizeof *out), h,
             c);
    }
    scan(in, n, out, h, c);
    return out;
}

void eval_recurrent(const Interp *in, const Node *n, double *out)
{
    const int64_t size = interp_size(in, (int)(n - in->g->nodes.at));
    Arena *a = arena_new();
    const Rounded *state = states(in, n, a);
    for (int64_t i = 0; i < size; i++)
        out[i] = state[i].at;
    arena_free(a);
}

void gate_recurrent(const Interp *in, const Node *n, double *out)
{
    const int64_t size = interp_size(in, (int)(n - in->g->nodes.at));
    Arena *a = arena_new();
    const Rounded *state = states(in, n, a);
    for (int64_t i = 0; i < size; i++)
        out[i] = sqrt(state[i].off2);
    arena_free(a);
}

void eval_join(const Interp *in, const Node *n, double *out)
{
    const Matrix a = interp_in(in, n, 0), b = interp_in(in, n, 1);
    const int64_t d_a = a.cols / n->heads, d_b = b.cols / n->heads_kv;
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t h = 0; h < n->heads; h++, out += d_a + d_b) {
            const double *shared = b.at + i * b.cols + h % n->heads_kv * d_b;
            memcpy(out, a.at + i * a.cols + h * d_a, (size_t)d_a * sizeof *out);
            memcpy(out + d_a, shared, (size_t)d_b * sizeof *out);
        }
}
