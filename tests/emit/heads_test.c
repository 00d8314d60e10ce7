/* heads_test.c: tests products of four rows with separate panels, in every way:
 * each sum is the FMA chain of one row alone. */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"

enum { Heads = 4, MostK = 70, MostPanels = 4, Lda = 75, Ldb = 16 * MostK + 16 };
enum { Ldc = 16 * MostPanels + 16, Floats = Heads * Ldc };

static const char *const kernels[] = { "heads_product", NULL };

typedef void Product(const float *, int64_t, const float *const *, int64_t,
                     int64_t, int64_t, float *, int64_t, int64_t);

static _Alignas(64) float a[Heads * Lda], b[Heads][MostPanels * Ldb];
static float before[Floats], c[Floats], want[Floats];

/* Keys that neighbours share are read by each. */
static void check(int64_t k, int64_t panels, int64_t group, int64_t adds)
{
    const float *const own[Heads] = { b[0], b[1 / group], b[2 / group],
                                      b[3 / group] };
    memcpy(want, before, sizeof want);
    for (int64_t i = 0; i < Heads; i++)
        for (int64_t j = 0; j < panels * 16; j++) {
            float sum = adds ? before[i * Ldc + j] : 0.0f;
            for (int64_t l = 0; l < k; l++)
                sum = fmaf(a[i * Lda + l],
                           own[i][j / 16 * Ldb + l * 16 + j % 16], sum);
            want[i * Ldc + j] = sum;
        }
    for (int i = 0; i < n_labs; i++) {
        Product *product;
        copy_function(&product, &lab[i], "heads_product");
        memcpy(c, before, sizeof c);
        product(a, Lda, own, Ldb, k, panels, c, Ldc, adds);
        if (memcmp(c, want, sizeof c) != 0)
            fail_msg("%s: k %d, %d panels, %d rows share keys", lab[i].name,
                     (int)k, (int)panels, (int)group);
    }
}

static void test_chains(void **state)
{
    (void)state;
    static const int64_t k[] = { 0, 1, 16, 33, MostK };
    lab_fill(a, Heads * Lda, FillUniform);
    lab_fill(b[0], Heads * MostPanels * Ldb, FillUniform);
    lab_fill(before, Floats, FillUniform);
    for (size_t i = 0; i < sizeof k / sizeof *k; i++)
        for (int64_t panels = 0; panels <= MostPanels; panels++)
            for (int64_t group = 1; group <= Heads; group *= 2)
                for (int64_t adds = 0; adds < 2; adds++)
                    check(k[i], panels, group, adds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains),
    };
    lab_of.kernels = kernels;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
