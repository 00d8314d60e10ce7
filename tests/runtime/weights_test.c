/* weights_test.c: tests packing, element by element, against the layouts of
 * rt.h; positions; seeded weights. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"

enum { Floats = 1 << 16 };
static _Alignas(64) float packed[Floats];
static float plain[Floats];

static void pack(PackItem *item, int64_t n, const Safetensors *s, uint64_t seed)
{
    PackList list = { .item = item, .count = n, .bytes = sizeof packed };
    memset(packed, 0, sizeof packed);
    weights_pack(&list, &(WeightSource){ .file = s, .seed = seed }, packed);
}

/* Writes a file of matrices and vectors whose element i is base + i. */
static Safetensors *file_of(const TensorOut *shapes, int n)
{
    static float data[8][8192];
    TensorOut t[8];
    for (int i = 0; i < n; i++) {
        t[i] = shapes[i];
        t[i].data = data[i];
        for (int k = 0; k < 8192; k++)
            data[i][k] = (float)(10000 * (i + 1) + k);
    }
    Fault why;
    assert_true(safetensors_write(scratch_path("w"), t, n, &why));
    Safetensors *s = safetensors_open(scratch_path("w"), &why);
    assert_non_null(s);
    return s;
}

/* ---- layouts ---- */
static const int64_t sizes[] = { 1, 2, 3, 15, 16, 17, 31, 33, 48 };
enum { Sizes = sizeof sizes / sizeof sizes[0] };

/* Tests column panels of 16 columns (rows of the tensor), one k after another;
 * everything outside the tensor stays zero. */
static void packs_panels(void **state)
{
    (void)state;
    for (int a = 0; a < Sizes; a++)
        for (int b = 0; b < Sizes; b++) {
            int64_t rows = sizes[a], k = sizes[b], full = (rows + 15) / 16;
            Safetensors *s = file_of(
                &(TensorOut){ .name = "x", .rank = 2, .dim = { rows, k } }, 1);
            PackItem item = { .name = "x",
                              .from.name = "x",
                              .rows = rows,
                              .k = k,
                              .layout = PackPanels,
                              .columns = rows };
            pack(&item, 1, s, 0);
            for (int64_t p = 0; p < full; p++)
                for (int64_t i = 0; i < k; i++)
                    for (int64_t c = 0; c < 16; c++) {
                        int64_t row = 16 * p + c;
                        float want = row < rows ? (float)(10000 + row * k + i)
                                                : 0;
                        assert_true(packed[p * k * 16 + i * 16 + c] == want);
                    }
            for (int64_t i = full * 16 * k; i < Floats; i++)
                assert_true(packed[i] == 0);
            safetensors_close(s);
        }
}

/* Tests three tensors in one block; the scale applies only to the first. */
static void stacks_tensors(void **state)
{
    (void)state;
    enum { K = 5 };
    static const int64_t rows[3] = { 7, 12, 3 };
    TensorOut t[6];
    PackItem item[6] = { 0 };
    static const char *const names[6] = { "q", "k", "v", "q.b", "k.b", "v.b" };
    for (int i = 0, first = 0; i < 3; first += (int)rows[i++]) {
        t[i] = (TensorOut){ .name = names[i],
                            .rank = 2,
                            .dim = { rows[i], K } };
        t[i + 3] = (TensorOut){ .name = names[i + 3],
                                .rank = 1,
                                .dim = { rows[i] } };
        item[i] = (PackItem){ .name = names[i],
                              .from.name = names[i],
                              .layout = PackPanels,
                              .rows = rows[i],
                              .k = K,
                              .at = 64,
                              .first = first,
                              .columns = 22,
                              .scale = 0.3f,
                              .scaled = i == 0 };
        item[i + 3] = item[i];
        item[i + 3].name = item[i + 3].from.name = names[i + 3];
        item[i + 3].layout = PackVector;
        item[i + 3].rows = 1;
        item[i + 3].k = rows[i];
        item[i + 3].at = 4096;
    }
    Safetensors *s = file_of(t, 6);
    pack(item, 6, s, 0);
    const float *block = packed + 16, *vector = packed + 1024;
    for (int64_t c = 0; c < 32; c++) {
        int64_t of = c < 7 ? 0 : c < 19 ? 1 : c < 22 ? 2 : -1;
        int64_t row = c - (of == 1 ? 7 : of == 2 ? 19 : 0);
        double scale = of == 0 ? 0.3f : 1;
        for (int64_t k = 0; k < K; k++) {
            double value = (double)(10000 * (of + 1) + row * K + k);
            assert_true(block[c / 16 * 16 * K + k * 16 + c % 16]
                        == (of < 0 ? 0 : (float)(value * scale)));
        }
        double bias = (double)(10000 * (of + 4) + row);
        assert_true(vector[c] == (of < 0 ? 0 : (float)(bias * scale)));
    }
    safetensors_close(s);
}

static void packs_rows_and_vectors(void **state)
{
    (void)state;
    for (int a = 0; a < Sizes; a++)
        for (int b = 0; b < Sizes; b++) {
            int64_t rows = sizes[a], k = sizes[b], stride = (k + 15) / 16 * 16;
            TensorOut t[2] = {
                { .name = "table", .rank = 2, .dim = { rows, k } },
                { .name = "vector", .rank = 1, .dim = { k } },
            };
            Safetensors *s = file_of(t, 2);
            PackItem item[2] = {
                { .name = "table",
                  .from.name = "table",
                  .layout = PackRows,
                  .rows = rows,
                  .k = k,
                  .columns = rows },
                { .name = "vector",
                  .from.name = "vector",
                  .rows = 1,
                  .k = k,
                  .layout = PackVector,
                  .at = 4 * rows * stride,
                  .columns = k,
                  .scale = 2,
                  .scaled = true },
            };
            pack(item, 2, s, 0);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t i = 0; i < stride; i++)
                    assert_true(packed[r * stride + i]
                                == (i < k ? (float)(10000 + r * k + i) : 0));
            for (int64_t i = 0; i < stride; i++)
                assert_true(packed[rows * stride + i]
                            == (i < k ? (float)(2 * (20000 + i)) : 0));
            weights_tensor(&item[1], s, 0, plain);
            assert_true(plain[0] == 20000); /* without the scale */
            safetensors_close(s);
        }
}

/* Tests a tensor longer than a chunk of the packer, and not a multiple of it.
 */
static void packs_long_rows(void **state)
{
    (void)state;
    enum { Rows = 3, K = 1300 };
    Safetensors *s =
        file_of(&(TensorOut){ .name = "x", .rank = 2, .dim = { Rows, K } }, 1);
    PackItem item = { .name = "x",
                      .from.name = "x",
                      .rows = Rows,
                      .k = K,
                      .layout = PackPanels,
                      .columns = Rows };
    pack(&item, 1, s, 0);
    weights_tensor(&item, s, 0, plain);
    for (int64_t r = 0; r < Rows; r++)
        for (int64_t i = 0; i < K; i++) {
            assert_true(packed[i * 16 + r] == (float)(10000 + r * K + i));
            assert_true(plain[r * K + i] == (float)(10000 + r * K + i));
        }
    safetensors_close(s);
}

/* ---- tensors that hold several ---- */

/* Returns our element [r, c] of a tensor of 10 rows or columns by 4. */
static float shared_value(const FileTensor *f, int64_t r, int64_t c)
{
    int64_t *axis = f->by_columns ? &c : &r;
    *axis = *axis / f->take * f->stride + f->first + *axis % f->take;
    int64_t rows = f->by_columns ? 4 : f->total;
    int64_t columns = f->by_columns ? f->total : 4;
    return (float)(10000 + (f->transposed ? c * rows + r : r * columns + c));
}

static void takes_shares(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        bool columns = way & 1, turned = way & 2;
        int64_t dim[2] = { columns ? 4 : 10, columns ? 10 : 4 };
        Safetensors *s = file_of(&(TensorOut){ .name = "x",
                                               .rank = 2,
                                               .dim = { dim[turned],
                                                        dim[!turned] } },
                                 1);
        PackItem item = { .name = "y",
                          .layout = PackRows,
                          .columns = 6,
                          .rows = columns ? 4 : 6,
                          .k = columns ? 6 : 4,
                          .from = { .name = "x",
                                    .transposed = turned,
                                    .by_columns = columns,
                                    .groups = 2,
                                    .first = 1,
                                    .take = 3,
                                    .stride = 5,
                                    .total = 10 } };
        Report report = { 0 };
        PackList list = { .item = &item, .count = 1 };
        assert_true(weights_check(&list, s, &report));
        assert_int_equal(report.warnings, 1); /* 24 of 40 are used */
        report_free(&report);
        pack(&item, 1, s, 0);
        weights_tensor(&item, s, 0, plain);
        for (int64_t r = 0; r < item.rows; r++)
            for (int64_t c = 0; c < item.k; c++) {
                float want = shared_value(&item.from, r, c);
                assert_true(packed[16 * r + c] == want);
                assert_true(plain[item.k * r + c] == want);
            }
        safetensors_close(s);
    }
}

/* Tests a transposed matrix in panels, a share of a vector, and a constant. */
static void turns_and_fills(void **state)
{
    (void)state;
    TensorOut t[2] = { { .name = "w", .rank = 2, .dim = { 5, 3 } },
                       { .name = "b", .rank = 1, .dim = { 9 } } };
    Safetensors *s = file_of(t, 2);
    /* clang-format off */
    PackItem item[3] = {
        { .name = "w", .from = { .name = "w", .transposed = true },
          .rows = 3, .k = 5, .layout = PackPanels, .columns = 3 },
        { .name = "b", .from = { .name = "b", .by_columns = true, .groups = 1,
          .first = 6, .take = 3, .stride = 9, .total = 9 }, .rows = 1, .k = 3,
          .layout = PackVector, .at = 4096, .columns = 3 },
        { .name = "f", .from.fill = 1.5, .rows = 1, .k = 3,
          .layout = PackVector, .at = 8192, .columns = 3 },
    };
    /* clang-format on */
    pack(item, 3, s, 0);
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 5; k++)
            assert_true(packed[16 * k + r] == (float)(10000 + 3 * k + r));
        assert_true(packed[1024 + r] == (float)(20006 + r));
        assert_true(packed[2048 + r] == 1.5f);
    }
    safetensors_close(s);
    pack(item, 3, NULL, 1); /* the same without a file */
    assert_true(packed[2048] == 1.5f && packed[1024] != 20006);
}

/* Tests scale w + add, rounded once; both are exact in double here. The factor
 * folded by a pass applies after it. Seeded weights are not changed. */
static void changes_elements(void **state)
{
    static const float numbers[] = { 0.0f, -1.0f, 0x1.fffffep-3f, 3e-9f, -0.1f,
                                     7.7f, 1e-3f, -0x1.000002p-1f };
    enum { Numbers = sizeof numbers / sizeof *numbers };
    const TensorOut t = {
        .name = "w", .rank = 1, .dim = { Numbers }, .data = numbers
    };
    PackItem item = { .name = "w",
                      .from = { .name = "w", .changed = true },
                      .rows = 1,
                      .k = Numbers,
                      .layout = PackVector,
                      .columns = Numbers,
                      .scale = 3,
                      .scaled = true };
    static const float change[][2] = { { 1, 1 }, { 0.22f, 0 }, { -0.3f, 2 } };
    Fault why;
    (void)state;
    assert_true(safetensors_write(scratch_path("w"), &t, 1, &why));
    Safetensors *s = safetensors_open(scratch_path("w"), &why);
    for (size_t i = 0; i < sizeof change / sizeof *change; i++) {
        item.from.scale = change[i][0];
        item.from.add = change[i][1];
        weights_tensor(&item, s, 0, plain);
        pack(&item, 1, s, 0);
        for (int j = 0; j < Numbers; j++) {
            long double w = (long double)numbers[j] * (long double)change[i][0];
            float want = (float)(w + (long double)change[i][1]);
            assert_true(plain[j] == want);
            assert_true(packed[j] == want * 3);
        }
    }
    safetensors_close(s);
    weights_tensor(&item, NULL, 1, plain);
    float seeded = plain[3];
    item.from.changed = false;
    weights_tensor(&item, NULL, 1, plain);
    assert_true(plain[3] == seeded);
}

/* ---- positions ---- */
static void make_positions(PackItem *item, int64_t rows, int64_t d)
{
    item->layout = PackRows;
    item->table = TableSinusoid;
    item->rows = item->columns = rows;
    item->k = d;
    item->base = 10000;
    pack(item, 1, NULL, 0);
}

static void assert_row(const float *row, const double *want, int n)
{
    for (int i = 0; i < n; i++) {
        double err = fabs(row[i] - want[i]);
        assert_true(err <= 0x1p-24 * fabs(want[i]));
    }
}

static void positions_of_the_paper(void **state)
{
    (void)state;
    static const double small[3][4] = {
        { 0, 1, 0, 1 },
        { 0.841470984807897, 0.540302305868140, 0.00999983333416666,
          0.999950000416665 },
        { 0.909297426825682, -0.416146836547142, 0.0199986666933331,
          0.999800006666578 },
    };
    static const double first[2][4] = {
        { 0.841470984807897, 0.54030230586814, 0.821856190017532,
          0.569695008693131 },
        { 0.88177040076075, -0.471678874174184, 0.283995700724978,
          -0.958825553460967 }
    };
    static const double last[2][2] = {
        { 0.000103663292658108, 0.999999994626961 },
        { 0.0529471726710488, 0.998597314690032 }
    };
    PackItem item = { 0 };
    make_positions(&item, 3, 4);
    for (int p = 0; p < 3; p++)
        assert_row(packed + 16 * p, small[p], 4);
    assert_true(packed[4] == 0 && packed[15] == 0); /* padding */
    for (int i = 0; i < 2; i++) {
        item.position = i ? 511 : 1; /* of the first row */
        make_positions(&item, 1, 512);
        assert_row(packed, first[i], 4);
        assert_row(packed + 510, last[i], 2);
    }
}

static void positions_in_halves(void **state)
{
    (void)state;
    enum { Rows = 5, D = 12 };
    PackItem halves = { .halves = true, .position = 3 };
    make_positions(&halves, Rows, D);
    memcpy(plain, packed, sizeof plain);
    PackItem pairs = { .position = 3 };
    make_positions(&pairs, Rows, D);
    for (int r = 0; r < Rows; r++)
        for (int i = 0; i < D / 2; i++) {
            assert_true(plain[16 * r + i] == packed[16 * r + 2 * i]);
            assert_true(plain[16 * r + D / 2 + i]
                        == packed[16 * r + 2 * i + 1]);
        }
}

static void positions_of_tensor2tensor(void **state)
{
    (void)state;
    enum { Rows = 40, D = 32 };
    PackItem item = { .halves = true, .tensor2tensor = true, .position = 1 };
    make_positions(&item, Rows, D);
    for (int r = 0; r < Rows; r++)
        for (int i = 0; i < D / 2; i++) {
            double step = log(10000) / (D / 2 - 1);
            double angle = (r + 1) * exp(-i * step);
            double sine[1] = { sin(angle) }, cosine[1] = { cos(angle) };
            double err = fabs(packed[D * r + i] - sine[0]);
            assert_true(err <= 1e-7 * fabs(sine[0]));
            err = fabs(packed[D * r + D / 2 + i] - cosine[0]);
            assert_true(err <= 1e-7 * fabs(cosine[0]));
        }
    make_positions(&item, 1, 2); /* one pair: no division by 0 */
    assert_true(packed[0] == sinf(1) && packed[1] == cosf(1));
}

/* ---- seeded ---- */
static void moments(const float *x, int n, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = sqrt(squares / n);
}

static void seeded_weights_have_their_size(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        PackLayout layout;
        int64_t rows, k;
        double mean, deviation;
    } cases[] = {
        { "encoder.0.ffn.w1.weight", PackPanels, 256, 64, 0, 0.125 },
        { "source.weight", PackRows, 256, 64, 0, 0.125 },
        { "encoder.0.ffn.w1.bias", PackVector, 1, 16384, 0, 0.02 },
        { "encoder.0.norm1.weight", PackVector, 1, 16384, 1, 0.02 },
    };
    for (int i = 0; i < 4; i++) {
        double mean, deviation, size = cases[i].deviation;
        PackItem item = { .name = cases[i].name,
                          .from.name = "other",
                          .layout = cases[i].layout,
                          .rows = cases[i].rows,
                          .k = cases[i].k };
        weights_tensor(&item, NULL, 1, plain);
        moments(plain, 16384, &mean, &deviation);
        assert_true(fabs(mean - cases[i].mean) < 4 * size / 128);
        assert_true(fabs(deviation / size - 1) < 0.02);
        for (int k = 0; k < 16384; k++) /* four uniforms end at 3.5 */
            assert_true(fabs(plain[k] - cases[i].mean) < 3.5 * size);
    }
}

/* Tests that these bits, which are the definition, are the same on every
 * machine. */
static void seeded_weights_are_fixed(void **state)
{
    (void)state;
    static const float want[4] = { -0x1.ca8872p-2f, 0x1.4e202ep-2f,
                                   0x1.d07c08p-1f, -0x1.52ba62p-1f };
    PackItem item = { .name = "encoder.0.self_attn.q.weight",
                      .from.name = "q",
                      .rows = 2,
                      .k = 2,
                      .layout = PackPanels,
                      .columns = 2 };
    weights_tensor(&item, NULL, 42, plain);
    assert_memory_equal(plain, want, sizeof want);
    /* in any order, packed or not */
    item.at = 64;
    PackItem two[2] = { item, item };
    two[0].name = "other";
    two[0].at = 0;
    pack(two, 2, NULL, 42);
    for (int i = 0; i < 4; i++)
        assert_true(packed[16 + i % 2 * 16 + i / 2] == want[i]);
    assert_true(packed[0] != want[0]);
    weights_tensor(&item, NULL, 43, plain);
    assert_true(plain[0] != want[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_panels),
        cmocka_unit_test(stacks_tensors),
        cmocka_unit_test(packs_rows_and_vectors),
        cmocka_unit_test(packs_long_rows),
        cmocka_unit_test(takes_shares),
        cmocka_unit_test(turns_and_fills),
        cmocka_unit_test(changes_elements),
        cmocka_unit_test(positions_of_the_paper),
        cmocka_unit_test(positions_in_halves),
        cmocka_unit_test(positions_of_tensor2tensor),
        cmocka_unit_test(seeded_weights_have_their_size),
        cmocka_unit_test(seeded_weights_are_fixed),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
