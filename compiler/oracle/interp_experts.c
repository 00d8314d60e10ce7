/* interp_experts.c: the oracle's ops for mixtures of experts, in double.
 * Dispatched rows have the order of their source rows, whereas compiled code
 * groups them by expert. */
#include <math.h>
#include <string.h>

#include "oracle/interp.h"

void eval_row_softmax(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0);
    for (int64_t r = 0; r < x.rows; r++, out += x.cols) {
        const double *row = x.at + r * x.cols;
        double top = row[0], sum = 0;
        for (int64_t c = 1; c < x.cols; c++)
            top = fmax(top, row[c]);
        for (int64_t c = 0; c < x.cols; c++)
            sum += out[c] = exp(row[c] - top);
        for (int64_t c = 0; c < x.cols; c++)
            out[c] /= sum;
    }
}

/* Returns the index of the largest value (of equal ones, the first) and sets
 * that value to -inf. */
static int64_t take_best(double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    x[best] = -HUGE_VAL;
    return best;
}

/* Returns the score of a group of m columns, the largest value or the sum of
 * the two largest. The score is rounded to f32 as in compiled code. */
static double group_score(const Node *n, const double *x, int64_t m,
                          double *work)
{
    memcpy(work, x, (size_t)m * sizeof *x);
    const double best = x[take_best(work, m)];
    return n->group_pairs ? (float)(best + x[take_best(work, m)]) : best;
}

static void choose_row(const Node *n, double *x, int64_t cols, double *work,
                       double *out)
{
    const int64_t m = cols / n->groups;
    double *score = work + m;
    for (int64_t g = 0; g < n->groups; g++)
        score[g] = group_score(n, x + g * m, m, work);
    for (int64_t g = 0; g < n->groups_chosen; g++)
        take_best(score, n->groups);
    for (int64_t c = 0; c < cols && n->groups_chosen < n->groups; c++)
        if (score[c / m] > -HUGE_VAL) /* the group was not selected */
            x[c] = -HUGE_VAL;
    for (int64_t j = 0; j < n->type.dim[1].c; j++)
        out[j] = (double)take_best(x, cols);
}

void eval_choose(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0);
    const double *more = n->nin > 1 ? interp_in(in, n, 1).at : NULL;
    const size_t bytes = (size_t)(2 * x.cols + 1) * sizeof *out;
    double *row = arena_alloc(in->arena, bytes);
    double *work = arena_alloc(in->arena, bytes);
    for (int64_t r = 0; r < x.rows; r++) {
        for (int64_t c = 0; c < x.cols; c++) {
            row[c] = x.at[r * x.cols + c];
            if (more) /* rounded to f32 as in compiled code */
                row[c] = (float)(row[c] + more[c]);
        }
        choose_row(n, row, x.cols, work, out + r * n->type.dim[1].c);
    }
}

void eval_weigh(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), ids = interp_in(in, n, 1);
    for (int64_t r = 0; r < ids.rows; r++, out += ids.cols) {
        double top = -HUGE_VAL, sum = 0;
        for (int64_t j = 0; j < ids.cols; j++) {
            out[j] = x.at[r * x.cols + (int64_t)ids.at[r * ids.cols + j]];
            top = fmax(top, out[j]);
        }
        for (int64_t j = 0; j < ids.cols; j++) {
            out[j] = n->softmax ? exp(out[j] - top) : out[j];
            sum += out[j];
        }
        for (int64_t j = 0; j < ids.cols; j++)
            out[j] *= n->scale / (n->softmax || n->normalize ? sum : 1);
    }
}

void eval_spread(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), ids = interp_in(in, n, 1);
    for (int64_t i = 0; i < ids.rows * ids.cols; i++, out += x.cols)
        memcpy(out, x.at + i / ids.cols * x.cols, (size_t)x.cols * sizeof *out);
}

void eval_combine(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), by = interp_in(in, n, 1);
    for (int64_t r = 0; r < by.rows; r++, out += x.cols)
        for (int64_t c = 0; c < x.cols; c++) {
            out[c] = 0;
            for (int64_t j = 0; j < by.cols; j++)
                out[c] += by.at[r * by.cols + j]
                        * x.at[(r * by.cols + j) * x.cols + c];
        }
}

void eval_row_scale(const Interp *in, const Node *n, double *out)
{
    const Matrix x = interp_in(in, n, 0), by = interp_in(in, n, 1);
    for (int64_t i = 0; i < size_of(x); i++)
        out[i] = x.at[i] * by.at[i / x.cols];
}
