/* mix_kernels_test.c: tests the cells of recurrent layers and the dispatch of
 * rows to experts and back, in all variants, against their definitions; all
 * variants give the same bits. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

#define EPS 0x1p-23

static const char *const kernels[] = { "simple_row_tanh",  "simple_row_relu",
                                       "gru_row",          "lstm_row",
                                       "row_softmax_rows", "row_scale_rows",
                                       "choose_rows",      "choose_of_groups",
                                       "weigh_rows",       "sort_routes",
                                       "expert_rows",      "spread_rows",
                                       "combine_rows",     NULL };
static const Lab *l;

#define kernel(name) lab_function(l, name)

static void assert_near(double got, double want, double gate)
{
    if (!(fabs(got - want) <= gate))
        fail_msg("%s: %a, not %a +- %g", l->name, got, want, gate);
}

/* Checks that all labs write the same as the first. */
static void assert_same_bits(float *first, const float *got, size_t n)
{
    if (l == &lab[0])
        memcpy(first, got, n * sizeof *got);
    assert_memory_equal(first, got, n * sizeof *got);
}

/* ---- cells ---- */

enum { Most = 80 };
static const int64_t sizes[] = { 1, 2, 6, 15, 16, 17, 34, 61, 64, 67 };

static float x[4 * Most], sums[4 * Most], bias[4 * Most], h[Most], cell[Most];
typedef struct {
    float y[Most], next[Most], cell[Most];
} Cells;

typedef void SimpleRow(float *, float *, const float *, const float *,
                       const float *, const float *, int64_t, int64_t);
typedef void GruRow(float *, float *, const float *, const float *,
                    const float *, const float *, const float *, int64_t,
                    int64_t, int64_t);
typedef void LstmRow(float *, float *, float *, const float *, const float *,
                     const float *, const float *, int64_t, int64_t, int64_t);

typedef void RunCell(Cells *c, const float *b, int64_t d, int64_t from,
                     int64_t to);
/* Computes the next state of column j; for an LSTM, also its cell. */
typedef double Next(const float *b, int64_t d, int64_t j, double *cell,
                    double *gate);

static double u_of(const float *b, int64_t at)
{
    return (double)sums[at] + (b ? (double)b[at] : 0);
}

static double size_of(const float *b, int64_t at)
{
    return fabs((double)x[at]) + fabs((double)sums[at])
         + (b ? fabs((double)b[at]) : 0);
}

static double sigmoid(double t)
{
    return 1 / (1 + exp(-t));
}

static void run_tanh(Cells *c, const float *b, int64_t d, int64_t from,
                     int64_t to)
{
    (void)d;
    ((SimpleRow *)kernel("simple_row_tanh"))(c->y, c->next, x, x, sums, b, from,
                                             to);
}

static double next_tanh(const float *b, int64_t d, int64_t j, double *c,
                        double *gate)
{
    (void)d;
    (void)c;
    *gate = 8 * EPS * (1 + size_of(b, j));
    return tanh((double)x[j] + u_of(b, j));
}

static void run_relu(Cells *c, const float *b, int64_t d, int64_t from,
                     int64_t to)
{
    (void)d;
    ((SimpleRow *)kernel("simple_row_relu"))(c->y, c->next, x, x, sums, b, from,
                                             to);
}

static double next_relu(const float *b, int64_t d, int64_t j, double *c,
                        double *gate)
{
    (void)d;
    (void)c;
    *gate = 2 * EPS * size_of(b, j);
    return fmax((double)x[j] + u_of(b, j), 0);
}

static void run_gru(Cells *c, const float *b, int64_t d, int64_t from,
                    int64_t to)
{
    ((GruRow *)kernel("gru_row"))(c->y, c->next, h, x, x, sums, b, d, from, to);
}

static double next_gru(const float *b, int64_t d, int64_t j, double *c,
                       double *gate)
{
    const double r = sigmoid((double)x[j] + u_of(b, j));
    const double z = sigmoid((double)x[d + j] + u_of(b, d + j));
    const double n = tanh((double)x[2 * d + j] + r * u_of(b, 2 * d + j));
    (void)c;
    *gate = 8 * EPS
          * (1 + size_of(b, j) + size_of(b, d + j) + size_of(b, 2 * d + j))
          * (1 + fabs((double)h[j]));
    return n + z * ((double)h[j] - n);
}

static void run_lstm(Cells *c, const float *b, int64_t d, int64_t from,
                     int64_t to)
{
    ((LstmRow *)kernel("lstm_row"))(c->y, c->next, c->cell, x, x, sums, b, d,
                                    from, to);
}

static double next_lstm(const float *b, int64_t d, int64_t j, double *c,
                        double *gate)
{
    double t[4], size = 1;
    for (int g = 0; g < 4; g++) {
        t[g] = (double)x[g * d + j] + u_of(b, g * d + j);
        size += size_of(b, g * d + j);
    }
    *c = sigmoid(t[1]) * *c + sigmoid(t[0]) * tanh(t[2]);
    *gate = 8 * EPS * size * (1 + fabs((double)cell[j]));
    return sigmoid(t[3]) * tanh(*c);
}

static const struct {
    RunCell *run;
    Next *next;
} cells[] = {
    { run_tanh, next_tanh },
    { run_relu, next_relu },
    { run_gru, next_gru },
    { run_lstm, next_lstm },
};

/* Checks that exactly columns from .. to - 1 are written. */
static void check_columns(int k, const Cells *c, const float *b, int64_t d,
                          int64_t from, int64_t to)
{
    for (int64_t j = 0; j < Most; j++) {
        double now = (double)cell[j], gate;
        if (j < from || j >= to) {
            assert_true(is_canary(c->y[j]) && is_canary(c->next[j]));
            assert_true(memcmp(&c->cell[j], &cell[j], sizeof *cell) == 0);
            continue;
        }
        assert_near((double)c->y[j], cells[k].next(b, d, j, &now, &gate), gate);
        assert_near((double)c->cell[j], now, gate);
        assert_true(memcmp(&c->y[j], &c->next[j], sizeof(float)) == 0);
    }
}

static void check_cell(int k, const float *b, int64_t d, int64_t from,
                       int64_t to)
{
    static Cells first, got;
    for (int i = 0; i < n_labs; i++) {
        l = &lab[i];
        lab_guard(got.y, Most);
        lab_guard(got.next, Most);
        memcpy(got.cell, cell, sizeof cell);
        cells[k].run(&got, b, d, from, to);
        check_columns(k, &got, b, d, from, to);
        assert_same_bits((float *)&first, (float *)&got,
                         sizeof got / sizeof(float));
    }
}

static void test_cells(void **state)
{
    (void)state;
    for (int fill = FillUniform; fill < Fills; fill++) {
        lab_fill(x, 4 * Most, (Fill)fill);
        lab_fill(sums, 4 * Most, (Fill)fill);
        lab_fill(bias, 4 * Most, FillUniform);
        lab_fill(h, Most, (Fill)fill);
        lab_fill(cell, Most, (Fill)fill);
        for (int k = 0; k < (int)(sizeof cells / sizeof *cells); k++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                check_cell(k, bias, sizes[i], 0, sizes[i]);
                check_cell(k, NULL, sizes[i], 0, sizes[i]);
                if (sizes[i] > 16) /* a part consists of complete panels */
                    check_cell(k, bias, sizes[i], 16, sizes[i]);
            }
    }
}

/* ---- experts ---- */

enum { Rows = 7, Experts = 24, Chosen = 5, Ld = 96, Spread = Rows * Chosen };

static float scores[Rows * Experts], lift[Experts];
static float ids[Rows * Chosen], place[Spread], end[Experts];

static int64_t int_at(const float *at)
{
    int32_t i;
    memcpy(&i, at, sizeof i);
    return i;
}

static double score_at(int64_t i, int64_t e, bool lifted)
{
    const float s = scores[i * Experts + e];
    return (double)(lifted ? s + lift[e] : s);
}

/* Returns the column of the best score among those `open`; the lower of equal
 * ones. */
static int64_t best_open(const double *value, const bool *open, int64_t n)
{
    int64_t best = -1;
    for (int64_t e = 0; e < n; e++)
        if (open[e] && (best < 0 || value[e] > value[best]))
            best = e;
    return best;
}

/* Finds the columns that row i may choose: those of its best `some` groups,
 * ranked by their best column or by the sum of their best two. */
static void open_groups(int64_t i, bool lifted, int64_t groups, int64_t some,
                        bool pairs, bool *open)
{
    const int64_t n = Experts / groups;
    double value[Experts];
    bool left[Experts];
    for (int64_t g = 0; g < groups; g++) {
        double most[2] = { -INFINITY, -INFINITY };
        for (int64_t e = g * n; e < (g + 1) * n; e++) {
            const double s = score_at(i, e, lifted);
            most[1] = s > most[0] ? most[0] : fmax(most[1], s);
            most[0] = fmax(most[0], s);
        }
        value[g] = pairs ? (double)((float)most[0] + (float)most[1]) : most[0];
        left[g] = true;
    }
    memset(open, 0, Experts * sizeof *open);
    for (int64_t k = 0; k < some; k++) {
        const int64_t g = best_open(value, left, groups);
        left[g] = false;
        for (int64_t e = g * n; e < (g + 1) * n; e++)
            open[e] = true;
    }
}

typedef void Choose(float *, int64_t, const float *, int64_t, const float *,
                    int64_t, int64_t, int64_t);
typedef void ChooseOf(float *, int64_t, const float *, int64_t, const float *,
                      int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

static void check_choice(bool lifted, int64_t groups, int64_t some, bool pairs)
{
    const float *b = lifted ? lift : NULL;
    lab_guard(ids, Rows * Chosen);
    if (groups == 1)
        ((Choose *)kernel("choose_rows"))(ids, Chosen, scores, Experts, b, Rows,
                                          Experts, Chosen);
    else
        ((ChooseOf *)kernel("choose_of_groups"))(ids, Chosen, scores, Experts,
                                                 b, Rows, Experts, Chosen,
                                                 groups, some, pairs);
    for (int64_t i = 0; i < Rows; i++) {
        double value[Experts];
        bool open[Experts];
        open_groups(i, lifted, groups, some, pairs, open);
        for (int64_t e = 0; e < Experts; e++)
            value[e] = score_at(i, e, lifted);
        for (int64_t k = 0; k < Chosen; k++) {
            const int64_t e = best_open(value, open, Experts);
            assert_int_equal(int_at(&ids[i * Chosen + k]), e);
            open[e] = false;
        }
    }
}

/* FillInteger has many equal scores. */
static void test_choice(void **state)
{
    (void)state;
    for (int i = 0; i < n_labs; i++)
        for (int fill = FillUniform; fill < Fills; fill++) {
            l = &lab[i];
            lab_fill(scores, Rows * Experts, (Fill)fill);
            lab_fill(lift, Experts, (Fill)fill);
            for (int lifted = 0; lifted < 2; lifted++) {
                check_choice(lifted, 1, 1, false);
                check_choice(lifted, 4, 1, false);
                check_choice(lifted, 4, 2, true);
                check_choice(lifted, 12, 3, true);
            }
        }
}

typedef void Weigh(float *, int64_t, const float *, int64_t, const float *,
                   int64_t, int64_t, int64_t, float, int64_t, int64_t);

static void check_weights(const float *y, int64_t i, bool softmax,
                          bool normalize)
{
    double want[Chosen], most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < Chosen; k++) {
        want[k] = score_at(i, int_at(&ids[i * Chosen + k]), false);
        most = fmax(most, want[k]);
    }
    for (int64_t k = 0; k < Chosen; k++) {
        want[k] = softmax ? exp(want[k] - most) : want[k];
        sum += want[k];
    }
    for (int64_t k = 0; k < Chosen; k++) {
        const double s = softmax || normalize ? want[k] / sum : want[k];
        assert_near((double)y[k], 2.5 * s, 32 * EPS * fabs(2.5 * s));
    }
}

static void test_weights(void **state)
{
    (void)state;
    static float first[4][Rows * Chosen], y[Rows * Chosen];
    lab_seed = 5;
    lab_fill(scores, Rows * Experts, FillUniform);
    for (int j = 0; j < Rows * Experts; j++)
        scores[j] = fabsf(scores[j]) + 0.01f; /* sums do not vanish */
    for (int i = 0; i < n_labs; i++)
        for (int form = 0; form < 4; form++) {
            l = &lab[i];
            check_choice(false, 1, 1, false);
            ((Weigh *)kernel("weigh_rows"))(y, Chosen, scores, Experts, ids,
                                            Chosen, Rows, Chosen, 2.5f,
                                            form & 1, form >> 1);
            for (int64_t r = 0; r < Rows; r++)
                check_weights(y + r * Chosen, r, form & 1, form >> 1);
            assert_same_bits(first[form], y, Rows * Chosen);
        }
}

/* ---- routes ---- */

typedef void Sort(float *, float *, const float *, int64_t, int64_t, int64_t,
                  int64_t);
typedef int64_t ExpertRows(const float *, int64_t, int64_t, int64_t, int64_t *);
typedef void SpreadRows(float *, int64_t, const float *, int64_t, const float *,
                        int64_t, int64_t, int64_t);
typedef void Combine(float *, int64_t, const float *, int64_t, const float *,
                     int64_t, const float *, int64_t, int64_t, int64_t);

/* By expert, of one expert in the order of rows. */
static void check_routes(void)
{
    int64_t at = 0;
    for (int64_t e = 0; e < Experts; e++) {
        for (int64_t i = 0; i < Spread; i++)
            if (int_at(&ids[i]) == e)
                assert_int_equal(int_at(&place[i]), at++);
        assert_int_equal(int_at(&end[e]), at);
    }
}

/* Checks that each block of the permutation has the rows of all experts in
 * order. */
static void check_expert_rows(void)
{
    for (int64_t row = 0; row < Spread; row++)
        for (int64_t rows = 1; row + rows <= Spread; rows += 3) {
            int64_t sum = 0;
            for (int64_t e = 0; e < Experts; e++) {
                int64_t before = -1;
                const int64_t n = ((ExpertRows *)kernel(
                    "expert_rows"))(end, e, row, rows, &before);
                if (n > 0)
                    assert_int_equal(before, sum);
                sum += n;
            }
            assert_int_equal(sum, rows);
        }
}

static void check_way(int64_t d)
{
    static float in[Rows * Ld], out[Spread * Ld], back[Rows * Ld];
    static float by[Rows * Chosen], first[Rows * Ld];
    lab_seed = (uint64_t)d;
    lab_fill(in, Rows * Ld, FillUniform);
    lab_fill(by, Rows * Chosen, FillUniform);
    lab_guard(out, Spread * Ld);
    lab_guard(back, Rows * Ld);
    ((SpreadRows *)kernel("spread_rows"))(out, Ld, in, Ld, place, Rows, Chosen,
                                          d);
    for (int64_t i = 0; i < Spread; i++) {
        const float *to = out + int_at(&place[i]) * Ld;
        assert_memory_equal(to, in + i / Chosen * Ld, (size_t)d * 4);
        assert_true(d == Ld || is_canary(to[d]));
    }
    lab_fill(out, Spread * Ld, FillUniform);
    ((Combine *)kernel("combine_rows"))(back, Ld, out, Ld, by, Chosen, place,
                                        Rows, Chosen, d);
    for (int64_t i = 0; i < Rows * Ld; i++) {
        double sum = 0, size = 0;
        if (i % Ld >= d) {
            assert_true(is_canary(back[i]));
            continue;
        }
        for (int64_t k = i / Ld * Chosen; k < (i / Ld + 1) * Chosen; k++) {
            const double t = (double)by[k]
                           * (double)out[int_at(&place[k]) * Ld + i % Ld];
            sum += t;
            size += fabs(t);
        }
        assert_near((double)back[i], sum, 8 * EPS * size);
    }
    assert_same_bits(first, back, Rows * Ld);
}

static void test_routes(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int i = 0; i < n_labs; i++) {
            l = &lab[i];
            lab_seed = s + 1;
            lab_fill(scores, Rows * Experts, s % 2 ? FillInteger : FillUniform);
            check_choice(false, 1, 1, false);
            ((Sort *)kernel("sort_routes"))(end, place, ids, Chosen, Rows,
                                            Chosen, Experts);
            check_routes();
            if (s == 0)
                check_expert_rows();
            check_way(sizes[s]);
        }
}

/* ---- rows ---- */

typedef void RowSoftmax(float *, int64_t, const float *, int64_t, int64_t,
                        int64_t);
typedef void RowScale(float *, int64_t, const float *, int64_t, const float *,
                      int64_t, int64_t, int64_t);

static void check_rows(int64_t d)
{
    static float in[Rows * Ld], out[Rows * Ld], by[Rows], first[2][Rows * Ld];
    lab_seed = (uint64_t)d;
    lab_fill(in, Rows * Ld, FillUniform);
    lab_fill(by, Rows, FillUniform);
    lab_guard(out, Rows * Ld);
    ((RowScale *)kernel("row_scale_rows"))(out, Ld, in, Ld, by, 1, Rows, d);
    for (int64_t i = 0; i < Rows * Ld; i++)
        assert_true(i % Ld < d ? out[i] == in[i] * by[i / Ld]
                               : is_canary(out[i]));
    assert_same_bits(first[0], out, Rows * Ld);
    ((RowSoftmax *)kernel("row_softmax_rows"))(out, Ld, in, Ld, Rows, d);
    for (int64_t i = 0; i < Rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < d; j++)
            sum += exp((double)in[i * Ld + j]);
        for (int64_t j = 0; j < d; j++) {
            const double want = exp((double)in[i * Ld + j]) / sum;
            assert_near((double)out[i * Ld + j], want, 32 * EPS * want);
        }
    }
    assert_same_bits(first[1], out, Rows * Ld);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int i = 0; i < n_labs; i++) {
            l = &lab[i];
            check_rows(sizes[s]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cells),   cmocka_unit_test(test_choice),
        cmocka_unit_test(test_weights), cmocka_unit_test(test_routes),
        cmocka_unit_test(test_rows),
    };
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
