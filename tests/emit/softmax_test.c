/* softmax_test.c: tests online softmax by chunks of 64 keys against attention
 * in double, with NaN in all places without a key. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"
#include "support/skip.h"

#define EPS 0x1p-23
#define LOG2E 0x1.715476p+0f     /* softmax takes powers of 2 */

enum { Rows = 5, Keys = 200, MostD = 40, Ldo = 48, Ldy = 41 };

static const char *const kernels[] = { "softmax_begin", "softmax_chunk",
                                       "softmax_page",  "softmax_end",
                                       "softmax_sink",  NULL };

typedef void Begin(int64_t, float *, float *, float *, int64_t);
typedef void Sink(int64_t, float, float *, float *);
typedef void Chunk(float *, int64_t, const int64_t *, const int64_t *, float,
                   float *, float *, float *, int64_t);
typedef void Page(float *, int64_t, int64_t, float, float *, float *, float *,
                  int64_t);
typedef void End(float *, int64_t, int64_t, int64_t, const float *,
                 const float *, int64_t);

static float score[Rows][Keys], value[Keys][MostD];
static _Alignas(64) float y[Rows * Ldy + 7], first[Rows * Ldy + 7];

/* One form of attention: row i sees keys 0 .. keys + i * step - 1; with a
 * window only the last of these. */
typedef struct {
    int64_t keys, step, window, d_v;
    float scale, sink; /* sink 0: none; else a score without a value */
} Attend;

static int64_t end_of(const Attend *a, int64_t i)
{
    return a->keys + i * a->step;
}

static int64_t start_of(const Attend *a, int64_t i)
{
    const int64_t start = end_of(a, i) - a->window;
    return a->window == 0 || start < 0 ? 0 : start;
}

static bool sees(const Attend *a, int64_t i, int64_t key)
{
    return key >= start_of(a, i) && key < end_of(a, i);
}

/* o += p v as a tile computes it, without keys that no row sees. */
static void add_values(float *o, const float *s, int64_t from, int64_t n,
                       int64_t d_v)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t k = 0; k < n && k < 64; k++)
            for (int64_t j = 0; j < d_v; j++)
                o[i * Ldo + j] = fmaf(s[i * 64 + k], value[from + k][j],
                                      o[i * Ldo + j]);
}

/* Loads the scores of a chunk; NaN for keys that a row may not see. */
static void load_chunk(float *s, const Attend *a, int64_t from)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t k = 0; k < 64; k++)
            s[i * 64 + k] = sees(a, i, from + k) ? score[i][from + k] : NAN;
}

/* Runs one chunk: the keys that each row sees, and zeros elsewhere. */
static void run_chunk(Chunk *chunk, const Attend *a, int64_t at, float *s,
                      float *max, float *sum, float *o)
{
    int64_t from[Rows], to[Rows];
    for (int64_t i = 0; i < Rows; i++) {
        from[i] = start_of(a, i) > at ? start_of(a, i) - at : 0;
        to[i] = end_of(a, i) - at < 64 ? end_of(a, i) - at : 64;
    }
    load_chunk(s, a, at);
    chunk(s, Rows, from, to, a->scale * LOG2E, max, sum, o, Ldo);
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t k = 0; k < 64; k++)
            if (!sees(a, i, at + k))
                assert_true(s[i * 64 + k] == 0);
}

/* Runs attention; uses `page` if given and if all rows see a chunk alike. */
static void attend_by(const Lab *l, const Attend *a, Page *page)
{
    static _Alignas(64) float s[Rows * 64], sum[Rows * 16], o[Rows * Ldo];
    float max[Rows];
    Begin *begin;
    Sink *sink;
    Chunk *chunk;
    End *end;
    copy_function(&begin, l, "softmax_begin");
    copy_function(&sink, l, "softmax_sink");
    copy_function(&chunk, l, "softmax_chunk");
    copy_function(&end, l, "softmax_end");

    lab_guard(o, Rows * Ldo);
    lab_guard(y, sizeof y / sizeof *y);
    const int64_t all = a->keys + (Rows - 1) * a->step;
    begin(Rows, max, sum, o, Ldo);
    if (a->sink != 0)
        sink(Rows, a->sink, max, sum);
    for (int64_t at = 0; at < all; at += 64) {
        if (page && a->window == 0 && (a->step == 0 || at + 64 <= a->keys)) {
            load_chunk(s, a, at);
            page(s, Rows, all - at < 64 ? all - at : 64, a->scale * LOG2E, max,
                 sum, o, Ldo);
        } else {
            run_chunk(chunk, a, at, s, max, sum, o);
        }
        add_values(o, s, at, all - at, a->d_v);
    }
    end(y, Ldy, Rows, a->d_v, sum, o, Ldo);
}

static void attend(const Lab *l, const Attend *a)
{
    attend_by(l, a, NULL);
}

/* Computes softmax(scale s) v for one output, and the sum of p |v| for the
 * gate. */
static double attended(const Attend *a, int64_t i, int64_t j, double *size)
{
    const int64_t from = start_of(a, i), n = end_of(a, i);
    double max = -HUGE_VAL, sum = 0, total = 0;
    *size = 0;
    for (int64_t k = from; k < n; k++)
        max = fmax(max, (double)score[i][k] * (double)a->scale);
    if (a->sink != 0) {
        max = fmax(max, (double)a->sink * (double)a->scale);
        sum = exp((double)a->sink * (double)a->scale - max);
    }
    for (int64_t k = from; k < n && max > -HUGE_VAL; k++) {
        const double p = exp((double)score[i][k] * (double)a->scale - max);
        sum += p;
        total += p * (double)value[k][j];
        *size += p * fabs((double)value[k][j]);
    }
    if (sum == 0)
        return 0;
    *size /= sum;
    return total / sum;
}

/* Compares y with the reference, and checks the canaries around it. */
static void check_values(const Attend *a)
{
    for (int64_t i = 0; i < Rows; i++)
        for (int64_t j = 0; j < Ldy; j++) {
            double size;
            const float got = y[i * Ldy + j];
            if (j >= a->d_v) {
                assert_true(is_canary(got));
                continue;
            }
            const double want = attended(a, i, j, &size);
            if (!(fabs((double)got - want) <= 64 * EPS * size))
                fail_msg("keys %d step %d window %d: (%d, %d) is %a, expected "
                         "%a",
                         (int)a->keys, (int)a->step, (int)a->window, (int)i,
                         (int)j, (double)got, want);
        }
}

static void check_attend(const Attend *a)
{
    for (int i = 0; i < n_labs; i++) {
        attend(&lab[i], a);
        if (i == 0)
            memcpy(first, y, sizeof y);
        if (memcmp(first, y, sizeof y) != 0)
            fail_msg("%s and %s differ at %d keys, step %d", lab[i].name,
                     lab[0].name, (int)a->keys, (int)a->step);
    }
    check_values(a);
}

static void fill_scores(Fill fill)
{
    lab_fill(&score[0][0], Rows * Keys, fill);
    lab_fill(&value[0][0], Keys * MostD, FillUniform);
}

static void test_attention(void **state)
{
    (void)state;
    static const int64_t keys[] = { 0, 1, 15, 16, 63, 64, 65, 127, 128, 150 };
    static const int64_t d_v[] = { 1, 16, 17, 40 };
    for (int fill = 0; fill < Fills; fill++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (int64_t step = 0; step <= 2; step++) {
                fill_scores((Fill)fill);
                check_attend(&(Attend){ .keys = keys[k],
                                        .step = step,
                                        .d_v = d_v[k % 4],
                                        .scale = 0.125f });
            }
}

/* Tests a score without a value, below, among and above the others. */
static void test_sinks(void **state)
{
    (void)state;
    static const int64_t keys[] = { 0, 1, 16, 65, 150 };
    static const float sinks[] = { -40, -0.5f, 0.25f, 30 };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
            fill_scores(FillUniform);
            check_attend(&(Attend){ .keys = keys[k],
                                    .step = 1,
                                    .d_v = 17,
                                    .scale = 0.5f,
                                    .sink = sinks[i] });
        }
}

/* Tests that a page that all rows see alike equals a chunk. */
static void test_pages(void **state)
{
    (void)state;
    static const int64_t keys[] = { 1, 15, 16, 63, 64, 65, 150 };
    for (int i = 0; i < n_labs; i++) {
        Page *page;
        copy_function(&page, &lab[i], "softmax_page");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            for (int64_t step = 0; step <= 1; step++) {
                const Attend a = {
                    .keys = keys[k],
                    .step = step,
                    .d_v = 17,
                    .scale = 0.125f,
                };
                fill_scores(FillUniform);
                attend(&lab[i], &a);
                memcpy(first, y, sizeof y);
                attend_by(&lab[i], &a, page);
                assert_memory_equal(y, first, sizeof y);
            }
    }
}

/* Tests rows whose keys begin late: in the chunk where they end, or in an
 * earlier one; and chunks that only some rows see. */
static void test_windows(void **state)
{
    (void)state;
    static const int64_t keys[] = { 1, 17, 62, 64, 66, 127, 128, 150 };
    static const int64_t windows[] = { 1, 2, 16, 63, 64, 65, 128 };
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
            for (int64_t step = 0; step <= 9; step += 3) {
                fill_scores(FillUniform);
                check_attend(&(Attend){ .keys = keys[k],
                                        .step = step,
                                        .window = windows[w],
                                        .d_v = 17,
                                        .scale = 0.125f });
            }
}

/* Tests maxima that grow by more than exp can represent, and scores of -inf. */
static void test_extremes(void **state)
{
    (void)state;
    const Attend a = { .keys = 190, .step = 1, .d_v = 17, .scale = 1.0f };
    fill_scores(FillUniform);
    for (int64_t k = 0; k < Keys; k++) {
        score[0][k] = (float)k * 5; /* each chunk's weights make the last
                                       ones 0 */
        score[1][k] = -(float)k * 5;
        score[2][k] = k < 100 ? -INFINITY : score[2][k];
        score[3][k] = -INFINITY;
        score[4][k] *= 0x1p+100f;
    }
    check_attend(&a);
    for (int64_t j = 0; j < a.d_v; j++)
        assert_true(y[3 * Ldy + j] == 0);
}

/* Tests targets without FMA: other bits, within the same gate. */
static void test_without_fma(void **state)
{
    (void)state;
    const Attend a = { .keys = 130, .step = 1, .d_v = 17, .scale = 0.125f };
    Lab old = { .name = "prebuilt x86-64-v2" };
    Fault why;
    if (!lab_can_run("x86-64-v2"))
        SKIP("not an x86-64 processor");
    assert_true(target_find(&old.target, "x86-64-v2", 0, NULL, &why));
    fill_scores(FillUniform);
    attend(&old, &a);
    check_values(&a);
}

/* Tests that a row's bits do not depend on its neighbours. */
static void test_rows_are_alone(void **state)
{
    (void)state;
    const Attend a = { .keys = 130, .step = 0, .d_v = 40, .scale = 0.5f };
    fill_scores(FillUniform);
    attend(&lab[0], &a);
    memcpy(first, y, sizeof y);
    for (int64_t k = 0; k < Keys; k++)
        score[1][k] = NAN;
    attend(&lab[0], &a);
    assert_memory_equal(y, first, Ldy * sizeof *y);
    assert_memory_equal(y + 2 * Ldy, first + 2 * Ldy, 3 * Ldy * sizeof *y);
    assert_true(isnan(y[Ldy]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_sinks),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_without_fma),
        cmocka_unit_test(test_rows_are_alone),
    };
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
