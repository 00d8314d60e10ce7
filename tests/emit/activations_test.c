/* activations_test.c: tests each activation and tanh against its formula in
 * double, over all magnitudes of floats, with the same bits from every
 * compiler; and the kernels that apply them to rows. ATTNC_FULL=1: over all
 * floats. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

enum { Floats = 4096, Rows = 3, Ld = 70, Size = Rows * Ld };

static const char tanh_all[] =
    "void tanh_all(float *y, const float *x, int64_t n);\n"
    "void tanh_all(float *y, const float *x, int64_t n)\n"
    "{\n"
    "    for (int64_t i = 0; i < n; i += W)\n"
    "        v_store(y + i, v_tanh(v_load(x + i)));\n"
    "}\n"
    "\n";

static const char *const kernels[] = { "activate_rows_relu",
                                       "activate_rows_gelu",
                                       "activate_rows_gelu_tanh",
                                       "activate_rows_silu",
                                       "gate_rows_relu",
                                       "gate_rows_gelu",
                                       "gate_rows_gelu_tanh",
                                       "gate_rows_silu",
                                       "mul_rows",
                                       "softcap_rows",
                                       "activate_rows_quick_gelu",
                                       "activate_rows_tanh",
                                       "activate_rows_clipped_gelu",
                                       "gate_rows_clipped_gelu",
                                       "activate_rows_clipped_plus_1",
                                       "activate_rows_squared_relu",
                                       "activate_rows_log1p_relu",
                                       "activate_rows_log1p_log1p_relu",
                                       NULL };

typedef void Map(float *, int64_t, const float *, int64_t, int64_t, int64_t);
typedef void Pair(float *, int64_t, const float *, int64_t, const float *,
                  int64_t, int64_t, int64_t);
typedef void Cap(float *, int64_t, const float *, int64_t, int64_t, int64_t,
                 float);
typedef void All(float *, const float *, int64_t);

static Activation act_of(const char *name) /* "gate_rows_silu" */
{
    for (int act = 0; act < ActCount; act++) {
        const char *word = act_text[act].plain, *at = strstr(name, "_rows_");
        if (word && at && !strcmp(at + strlen("_rows_"), word))
            return (Activation)act;
    }
    fail_msg("%s is no activation", name);
    return ActNone;
}

static double formula(Activation act, double x)
{
    switch (act) {
#define ACT(name, text, gated, other, ...) case Act##name: return __VA_ARGS__;
#include "spec/fields/activations.h"
    default: return 0;
    }
}

/* ---- functions of a float ---- */

typedef struct { /* one function, and how to call it */
    const char *name;
    double (*want)(double); /* NULL: an activation */
    double ulps;            /* larger than the common gate; 0: none */
} Function;

static const Function functions[] = {
    { "activate_rows_relu", NULL, 0 },
    { "activate_rows_gelu", NULL, 0 },
    { "activate_rows_gelu_tanh", NULL, 0 },
    { "activate_rows_silu", NULL, 4 },
    { "activate_rows_quick_gelu", NULL, 0 },
    { "tanh_all", tanh, 3 },
    { "activate_rows_tanh", NULL, 3 },
    { "activate_rows_clipped_gelu", NULL, 0 },
    { "activate_rows_clipped_plus_1", NULL, 0 },
    { "activate_rows_squared_relu", NULL, 1 },
    { "activate_rows_log1p_relu", NULL, 4 },
    { "activate_rows_log1p_log1p_relu", NULL, 8 },
};
enum { Functions = sizeof functions / sizeof *functions };

static void call(const Lab *l, const Function *f, float *y, const float *x)
{
    LabFunction p = lab_function(l, f->name);
    if (f->want)
        ((All *)p)(y, x, Floats);
    else
        ((Map *)p)(y, Floats, x, Floats, 1, Floats);
}

static void check_value(const Function *f, float x, float got)
{
    const double want = f->want ? f->want((double)x)
                                : formula(act_of(f->name), (double)x);
    const double error = fabs((double)got - want);
    if (isnan(x))
        assert_true(isnan(got));
    else if (isnan(want)) /* 0 times infinity */
        assert_true(isnan(got) || got == 0);
    else if (isinf((float)want)) /* infinite, or larger than all floats */
        assert_true(got == (float)want);
    else if (!(error <= 4e-7 * (1 + fabs(want))))
        fail_msg("%s(%a) is %a, expected %a", f->name, (double)x, (double)got,
                 want);
    else if (f->ulps > 0 && fabs(want) > 0x1p-118
             && !(error <= f->ulps * ldexp(1, ilogb(want) - 23)))
        fail_msg("%s(%a) is %a, expected %a, in ulps", f->name, (double)x,
                 (double)got, want);
}

static void check_floats(const Function *f, const float *x)
{
    static float y[MaxLabs][Floats];
    const int a = lab_emitted();
    for (int i = a; i < n_labs; i++)
        call(&lab[i], f, y[i], x);
    for (int k = 0; k < Floats; k++)
        check_value(f, x[k], y[a][k]);
    for (int i = a + 1; i < n_labs; i++)
        for (int k = 0; k < Floats; k++)
            if (memcmp(&y[i][k], &y[a][k], 4) != 0 && !isnan(y[a][k]))
                fail_msg("%s: %s(%a) is %a, but %a by %s", lab[i].name, f->name,
                         (double)x[k], (double)y[i][k], (double)y[a][k],
                         lab[a].name);
}

static float quiet(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits |= isnan(x) ? 0x400000 : 0;
    memcpy(&x, &bits, 4);
    return x;
}

/* Tests floats `step` apart by their bits. NaNs are quiet, as operations make
 * them: on some machines the larger of a signalling NaN and 0 is a NaN. */
static void test_floats(void **state)
{
    (void)state;
    static float x[Floats];
    const uint64_t step = getenv("ATTNC_FULL") ? 1 : 29989;
    for (uint64_t from = 0; from < 1ull << 32; from += Floats * step) {
        for (uint64_t i = 0; i < Floats; i++) {
            const uint32_t bits = (uint32_t)(from + i * step);
            memcpy(&x[i], &bits, 4);
            x[i] = quiet(x[i]);
        }
        for (int f = 0; f < Functions; f++)
            check_floats(&functions[f], x);
    }
}

/* Tests the range of most values of a model, and the points where formulas
 * join. */
static void test_usual(void **state)
{
    (void)state;
    static float x[Floats];
    for (int from = -12; from < 12; from++) {
        for (int i = 0; i < Floats; i++)
            x[i] = (float)from + (float)i / (float)Floats;
        for (int f = 0; f < Functions; f++)
            check_floats(&functions[f], x);
    }
}

/* Tests that far below zero an activation is exactly 0. */
static void test_tails(void **state)
{
    (void)state;
    float x[6] = { -20, -87, -90, -1e4f, -1e20f, -3e38f }, y[6];
    for (int i = 0; i < n_labs; i++)
        for (int k = 0; kernels[k] && !strncmp(kernels[k], "act", 3); k++) {
            ((Map *)lab_function(&lab[i], kernels[k]))(y, 6, x, 6, 1, 6);
            for (int j = 0; j < 6; j++)
                assert_true(y[j] <= 0 && y[j] >= (j ? -1e-30f : -1e-7f));
            for (int j = 0; j < 6; j++)
                y[j] = -x[j];
            ((Map *)lab_function(&lab[i], kernels[k]))(y, 6, y, 6, 1, 6);
            for (int j = 0; j < 6; j++)
                assert_true(y[j] <= -x[j] && y[j] >= -x[j] * 0.999999f);
        }
}

/* ---- rows ---- */

static float x[Size], b[Size], y[Size], first[Size];

static const char *name_of(Activation act)
{
    return arena_printf(lab_arena, "activate_rows_%s", act_text[act].plain);
}

static float one(const Lab *l, const char *kernel, float value)
{
    const char *name = name_of(act_of(kernel));
    ((Map *)lab_function(l, name))(&value, 1, &value, 1, 1, 1);
    return value;
}

/* Returns the value that (i, j) must equal in every bit. */
static float exact(const Lab *l, const char *kernel, int at)
{
    if (!strcmp(kernel, "mul_rows"))
        return x[at] * b[at];
    if (!strcmp(kernel, "softcap_rows")) {
        float value = x[at];
        ((Cap *)lab_function(l, kernel))(&value, 1, &value, 1, 1, 1, 2.5f);
        assert_true(fabs((double)value - 2.5 * tanh((double)x[at] / 2.5))
                    <= 4e-7 * 3.5);
        return value;
    }
    const float a = one(l, kernel, x[at]);
    const Activation other = act_text[act_of(kernel)].other;
    if (strncmp(kernel, "gate", 4))
        return a;
    return a * (other ? one(l, name_of(other), b[at]) : b[at]);
}

static void run_rows(const Lab *l, const char *kernel, const float *from, int d)
{
    LabFunction f = lab_function(l, kernel);
    if (!strcmp(kernel, "softcap_rows"))
        ((Cap *)f)(y, Ld, from, Ld, Rows, d, 2.5f);
    else if (!strncmp(kernel, "gate", 4) || !strcmp(kernel, "mul_rows"))
        ((Pair *)f)(y, Ld, from, Ld, b, Ld, Rows, d);
    else
        ((Map *)f)(y, Ld, from, Ld, Rows, d);
}

static void check_rows(const Lab *l, const char *kernel, int d, bool in_place)
{
    lab_guard(y, Size);
    for (int i = 0; in_place && i < Rows; i++)
        memcpy(y + i * Ld, x + i * Ld, (size_t)d * sizeof *x);
    run_rows(l, kernel, in_place ? y : x, d);
    for (int i = 0; i < Size; i++)
        if (i % Ld < d ? y[i] != exact(l, kernel, i) : !is_canary(y[i]))
            fail_msg("%s, %s, d %d: element %d is %a", l->name, kernel, d, i,
                     (double)y[i]);
}

static void test_rows(void **state)
{
    (void)state;
    static const int sizes[] = { 1, 2, 15, 16, 17, 33, 61, 64, 67 };
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int fill = 0; fill < Fills; fill++)
            for (int k = 0; kernels[k]; k++) {
                lab_fill(x, Size, (Fill)fill);
                lab_fill(b, Size, (Fill)fill);
                for (int i = 0; i < n_labs; i++) {
                    check_rows(&lab[i], kernels[k], sizes[s], true);
                    check_rows(&lab[i], kernels[k], sizes[s], false);
                    if (i == 0)
                        memcpy(first, y, sizeof y);
                    assert_memory_equal(first, y, sizeof y);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats),
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_tails),
        cmocka_unit_test(test_rows),
    };
    lab_of.kernels = kernels;
    lab_of.more = tanh_all;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
