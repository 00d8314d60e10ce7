/* interp_recurrent.c: recurrent cells of the oracle, in double, with the
 * formulas and the order of gates of torch.nn's RNN, GRU and LSTM.           */
#include <math.h>
#include <string.h>

#include "oracle/interp.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

typedef struct {     /* one row: d columns, gate g of column j at g d + j */
    const double *x; /* W x + its bias */
    const double *u; /* U h + its bias */
    int64_t d;
} CellRow;

static void simple_cell(const Node *n, const CellRow *r, double *h)
{
    for (int64_t j = 0; j < r->d; j++)
        h[j] = activation(n->act, r->x[j] + r->u[j]);
}

/* r, z, n */
static void gru_cell(const CellRow *r, double *h)
{
    const int64_t d = r->d;
    for (int64_t j = 0; j < d; j++) {
        const double reset = sigmoid(r->x[j] + r->u[j]);
        const double keep = sigmoid(r->x[d + j] + r->u[d + j]);
        const double fresh = tanh(r->x[2 * d + j] + reset * r->u[2 * d + j]);
        h[j] = (1 - keep) * fresh + keep * h[j];
    }
}

/* i, f, g, o */
static void lstm_cell(const CellRow *r, double *h, double *c)
{
    const int64_t d = r->d;
    for (int64_t j = 0; j < d; j++) {
        const double in = sigmoid(r->x[j] + r->u[j]);
        const double forget = sigmoid(r->x[d + j] + r->u[d + j]);
        const double fresh = tanh(r->x[2 * d + j] + r->u[2 * d + j]);
        const double out = sigmoid(r->x[3 * d + j] + r->u[3 * d + j]);
        c[j] = forget * c[j] + in * fresh;
        h[j] = out * tanh(c[j]);
    }
}

/* U h + b */
static void of_state(Matrix w, const double *b, const double *h, double *u)
{
    for (int64_t i = 0; i < w.rows; i++)
        u[i] = dot(w.at + i * w.cols, h, w.cols) + (b ? b[i] : 0);
}

/* Row by row; h and c are the states before, and become the last ones. */
static void scan(const Interp *in, const Node *n, double *out, double *h,
                 double *c)
{
    const Matrix x = interp_in(in, n, 0), w = interp_in(in, n, 1);
    const double *b = n->nin - n->sourced > 2 ? interp_in(in, n, 2).at : NULL;
    const size_t bytes = (size_t)w.cols * sizeof *out;
    Arena *a = arena_new();
    double *u = arena_alloc(a, (size_t)w.rows * sizeof *u);
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

/* The states before the first row are 0, or the last of a scan of the source,
 * which is made again for them.                                             */
void eval_recurrent(const Interp *in, const Node *n, double *out)
{
    const size_t d = (size_t)interp_in(in, n, 1).cols;
    Arena *a = arena_new();
    double *h = arena_alloc(a, d * sizeof *h);
    double *c = arena_alloc(a, d * sizeof *c);
    if (n->sourced) {
        const Node *source = &in->g->nodes.at[n->in[n->nin - 1]];
        const Matrix rows = interp_in(in, n, n->nin - 1);
        double *again = arena_alloc(a, (size_t)size_of(rows) * sizeof *again);
        scan(in, source, again, h, c);
    }
    scan(in, n, out, h, c);
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
