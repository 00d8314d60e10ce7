/* quantize_test.c: tests matrices as integers against a definition in double:
 * bytes of the blocks, errors, scales; exact numbers stay exact; hard columns;
 * the same bytes for all threads, machines and ways to store a tensor. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/weights/weight_loops.h"
#include "runtime/base/pool.h"
#include "support/deviates.h"
#include "support/scratch.h"

enum { Most = 1 << 18, Bytes = 1 << 20 };
static float given[Most], turned[Most], read_back[Most];
static int8_t integer[Most];
static float scale[Most];
static _Alignas(64) unsigned char block[Bytes], other[Bytes];

static void fill(int64_t n, double (*deviate)(void))
{
    for (int64_t i = 0; i < n; i++)
        given[i] = (float)deviate();
}

/* ---- the definition ---- */

/* Numbers that share a step; two such groups are packed together. */
static int64_t shared(const PackItem *item)
{
    return item->dtype == DtypeInt4g64 ? 64 : 32;
}

static int64_t stored(const PackItem *item)
{
    const int64_t pair = 2 * shared(item);
    return (item->k + pair - 1) / pair * pair;
}

static int64_t pair_bytes(const PackItem *item)
{
    return item->dtype == DtypeInt8 ? 1024 : 16 * shared(item) + 64;
}

static int64_t panel_bytes(const PackItem *item)
{
    return stored(item) / (2 * shared(item)) * pair_bytes(item) + 128;
}

static int64_t block_bytes(const PackItem *item)
{
    return (item->first + item->rows + 15) / 16 * panel_bytes(item);
}

/* Returns the block's number k of a column. */
static int integer_at(const PackItem *item, int64_t column, int64_t k)
{
    const unsigned char *panel = block + column / 16 * panel_bytes(item);
    const int64_t lane = column % 16;
    if (item->dtype == DtypeInt8) {
        const unsigned byte = panel[k / 4 * 64 + lane * 4 + k % 4];
        return byte < 128 ? (int)byte : (int)byte - 256;
    }
    const int64_t n = shared(item), half = k / n % 2, four = k % n / 4;
    const unsigned char *pair = panel + k / (2 * n) * pair_bytes(item);
    const unsigned char both =
        pair[half * 8 * n + four / 2 * 64 + lane * 4 + k % 4];
    const unsigned char *end = pair + 16 * n + half * 32;
    const unsigned offset = end[16 + lane];
    const int nibble = four % 2 ? both >> 4 : both & 15;
    return (nibble - 8) * end[lane]
         + (offset < 128 ? (int)offset : (int)offset - 256);
}

/* Reads four bytes of a column after its panel's numbers. */
static void end_at(const PackItem *item, int64_t column, int64_t at, void *x)
{
    const int64_t panel = (column / 16 + 1) * panel_bytes(item);
    memcpy(x, block + panel - 128 + at + column % 16 * 4, 4);
}

/* Checks that with the steps and offsets of groups every nibble is valid. */
static void assert_group(const PackItem *item, int64_t column, int64_t k)
{
    const int64_t n = shared(item);
    const unsigned char *end = block + column / 16 * panel_bytes(item)
                             + k / (2 * n) * pair_bytes(item) + 16 * n
                             + k / n % 2 * 32 + column % 16;
    const int step = end[0], offset = end[16] < 128 ? end[16] : end[16] - 256;
    assert_in_range(step, 1, 16);
    assert_true(offset - 8 * step >= -127 && offset + 7 * step <= 127);
}

static const Dtype formats[] = { DtypeInt8, DtypeInt4, DtypeInt4g64 };
enum { Formats = sizeof formats / sizeof *formats };

static Safetensors *file_of(const float *x, int64_t rows, int64_t k)
{
    const TensorOut t = {
        .name = "x", .rank = 2, .dim = { rows, k }, .data = x
    };
    Fault why;
    assert_true(safetensors_write(scratch_path("x"), &t, 1, &why));
    Safetensors *s = safetensors_open(scratch_path("x"), &why);
    assert_non_null(s);
    return s;
}

static PackItem item_of(Dtype dtype, int64_t rows, int64_t k)
{
    return (PackItem){ .name = "x",
                       .from.name = "x",
                       .layout = PackPanels,
                       .dtype = dtype,
                       .rows = rows,
                       .k = k,
                       .columns = rows };
}

static void pack(const PackItem *item, const Safetensors *s,
                 const struct attn_parallel *with, unsigned char *to)
{
    PackItem one = *item;
    const PackList list = { .item = &one, .count = 1 };
    assert_true(block_bytes(item) <= Bytes);
    memset(to, 0, Bytes);
    weights_pack(&list, &(WeightSource){ s, 1, with, NULL }, to);
}

/* Checks that the block equals the oracle's integers and floats, and that the
 * padding after k, after the columns and after the block is as specified. */
static void assert_block(const PackItem *item, const Safetensors *s)
{
    const int64_t end = (item->first + item->rows + 15) / 16 * 16;
    weights_integers(item, s, 1, integer, scale);
    weights_tensor(item, s, 1, read_back);
    for (int64_t column = 0; column < end; column++) {
        const int64_t row = column - item->first;
        const bool is_item = row >= 0 && row < item->rows;
        const float by = item->scaled ? item->scale : 1;
        int32_t sum = 0, sum_there;
        float scale_there;
        for (int64_t k = 0; k < stored(item); k++) {
            const int w = integer_at(item, column, k);
            sum += w;
            assert_true(w >= -127 && w <= 127);
            if (is_item && item->dtype != DtypeInt8)
                assert_group(item, column, k);
            if (!is_item || (k >= item->k && item->dtype == DtypeInt8))
                assert_int_equal(w, 0);
            if (!is_item || k >= item->k)
                continue;
            const int64_t at = row * item->k + k;
            assert_int_equal(integer[at], w);
            assert_true(read_back[at] == (float)w * scale[row]);
        }
        end_at(item, column, 0, &scale_there);
        end_at(item, column, 64, &sum_there);
        assert_int_equal(sum_there, -128 * sum);
        assert_true(scale_there == (is_item ? scale[row] * by : 0));
    }
    for (int64_t i = block_bytes(item); i < Bytes; i++)
        assert_int_equal(block[i], 0);
}

/* Packs `given` with default settings, checks the block, and sets `read_back`.
 */
static void quantize_given(Dtype dtype, int64_t rows, int64_t k)
{
    const PackItem item = item_of(dtype, rows, k);
    Safetensors *s = file_of(given, rows, k);
    pack(&item, s, NULL, block);
    assert_block(&item, s);
    safetensors_close(s);
}

/* ---- errors ---- */
static double squared_error(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += pow((double)x[i] - (double)y[i], 2);
    return sum;
}

static double squares(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static double largest(const float *x, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* Returns the least squared error of a row for the integers at `w`, with any
 * scale. */
static double least_error(const float *x, const double *w, int64_t n)
{
    double all = 0, along = 0, of_w = 0;
    for (int64_t i = 0; i < n; i++) {
        all += (double)x[i] * (double)x[i];
        along += (double)x[i] * w[i];
        of_w += w[i] * w[i];
    }
    return of_w > 0 ? all - along * along / of_w : all;
}

/* Tries steps near a 127th of the largest. */
static double int8_error(const float *x, int64_t n)
{
    static const double divisors[] = { 127, 126, 128, 130, 133 };
    static double w[Most];
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        for (int64_t k = 0; k < n; k++) {
            w[k] = nearbyint((double)x[k] * divisors[i] / largest(x, n));
            w[k] = fmin(fmax(w[k], -127), 127);
        }
        best = fmin(best, least_error(x, w, n));
    }
    return best;
}

/* Finds the best nibbles of a group by trying every step and offset. */
static void int4_group(const double *u, int64_t n, double *w)
{
    double best = INFINITY;
    for (int step = 1; step <= 16; step++)
        for (int offset = 8 * step - 127; offset <= 127 - 7 * step; offset++) {
            double v[64], error = 0;
            for (int64_t k = 0; k < n; k++) {
                const double q = nearbyint((u[k] - offset) / step);
                v[k] = fmin(fmax(q, -8), 7) * step + offset;
                error += (u[k] - v[k]) * (u[k] - v[k]);
            }
            if (error < best)
                memcpy(w, v, (size_t)n * sizeof *w);
            best = fmin(best, error);
        }
}

static double int4_error(const float *x, int64_t n, int64_t group)
{
    static double u[Most], w[Most];
    for (int64_t k = 0; k < n; k++)
        u[k] = (double)x[k] * 127 / largest(x, n);
    for (int64_t k = 0; k < n; k += group)
        int4_group(u + k, n - k < group ? n - k : group, w + k);
    return least_error(x, w, n);
}

/* Tests that no scale is better for the integers of a row, apart from rounding
 * to float. */
static void assert_best_scale(const float *x, const float *y, int64_t n)
{
    double along = 0;
    for (int64_t i = 0; i < n; i++)
        along += ((double)x[i] - (double)y[i]) * (double)y[i];
    assert_true(fabs(along) <= 1e-6 * squares(y, n));
}

static void errors_are_least(void **state)
{
    (void)state;
    random_ = 3;
    for (int i = 0; i < 30; i++) {
        const int64_t k = 1 + below(300), rows = 5;
        fill(rows * k, i % 2 ? student : gaussian);
        quantize_given(DtypeInt8, rows, k);
        for (int64_t r = 0; r < rows; r++) {
            const float *x = given + r * k, *y = read_back + r * k;
            assert_best_scale(x, y, k);
            assert_true(squared_error(x, y, k)
                        <= 1.0001 * int8_error(x, k) + 1e-12 * squares(x, k));
        }
    }
    for (int i = 0; i < 10; i++) {
        const int64_t k = 1 + below(300), rows = 3;
        double found = 0, best = 0;
        fill(rows * k, i % 2 ? student : gaussian);
        quantize_given(i < 6 ? DtypeInt4 : DtypeInt4g64, rows, k);
        for (int64_t r = 0; r < rows; r++) {
            const float *x = given + r * k, *y = read_back + r * k;
            assert_best_scale(x, y, k);
            found += squared_error(x, y, k);
            best += int4_error(x, k, i < 6 ? 32 : 64);
        }
        assert_true(found >= best * 0.9 && found <= best * 1.15);
    }
}

/* Tests that the noise, in decibels, is at most that published for such
 * formats. */
static void noise_is_low(void **state)
{
    enum { Rows = 64, K = 2048 };
    static const double least[2][Formats] = { { 41.3, 22.4, 21.3 },
                                              { 33.0, 21.0, 19.5 } };
    (void)state;
    for (int heavy = 0; heavy < 2; heavy++) {
        random_ = 11;
        fill(Rows * K, heavy ? student : gaussian);
        for (int f = 0; f < Formats; f++) {
            quantize_given(formats[f], Rows, K);
            const double noise = squared_error(given, read_back, Rows * K);
            const double db = 10 * log10(squares(given, Rows * K) / noise);
            if (!(db > least[heavy][f]))
                fail_msg("%s: %.2f dB", dtype_word[formats[f]], db);
        }
    }
}

/* ---- what is exact ---- */

/* Tests that integers times any scale are reproduced. */
static void integers_come_back(void **state)
{
    static const int largest_of[] = { 127, 126 };
    static int8_t want[Most];
    (void)state;
    random_ = 5;
    for (int i = 0; i < 60; i++) {
        const int64_t rows = 1 + below(40), k = 40 + below(300);
        for (int64_t r = 0; r < rows; r++) {
            const float s = (float)ldexp(1 + uniform(), (int)below(200) - 100);
            const int most = largest_of[below(2)];
            for (int64_t c = 0; c < k; c++) {
                const int w = c == k / 2 ? most
                                         : (int)below(2 * most + 1) - most;
                want[r * k + c] = (int8_t)w;
                given[r * k + c] = (float)w * s;
            }
        }
        quantize_given(DtypeInt8, rows, k);
        assert_memory_equal(integer, want, (size_t)(rows * k));
        assert_memory_equal(read_back, given,
                            (size_t)(rows * k) * sizeof *given);
    }
}

/* Tests that quantising quantised weights changes nothing. */
static void twice_is_once(void **state)
{
    enum { Rows = 33, K = 200 };
    static float once[Rows * K];
    (void)state;
    random_ = 6;
    fill(Rows * K, gaussian);
    for (int64_t r = 0; r < Rows; r++) /* its step is a 127th of this */
        given[r * K + 7] = 4;
    quantize_given(DtypeInt8, Rows, K);
    memcpy(once, read_back, sizeof once);
    memcpy(given, once, sizeof once);
    quantize_given(DtypeInt8, Rows, K);
    assert_memory_equal(read_back, once, sizeof once);
}

/* ---- hard columns ---- */
static void small_matrices(void **state)
{
    static const int64_t sizes[] = { 1,  2,  3,  15, 16, 17,  31,
                                     32, 33, 63, 64, 65, 129, 260 };
    enum { Sizes = sizeof sizes / sizeof *sizes };
    (void)state;
    random_ = 7;
    for (int a = 0; a < Sizes; a++)
        for (int b = 0; b < Sizes; b++)
            for (int f = 0; f < Formats; f++) {
                const int64_t rows = sizes[a], k = sizes[b];
                fill(rows * k, gaussian);
                quantize_given(formats[f], rows, k);
                for (int64_t r = 0; r < rows && k == 1; r++)
                    assert_true(fabsf(read_back[r] - given[r])
                                <= 1e-6f * fabsf(given[r]));
                assert_true(squared_error(given, read_back, rows * k)
                            <= 0.02 * squares(given, rows * k));
            }
}

/* Tests zeros, denormals, the largest floats, and one number far above the
 * others. */
static void hard_columns(void **state)
{
    enum { K = 100 };
    static const double sizes[] = {
        0, 0x1p-149, 0x1p-130, 0x1p-126, 1e-30, 1, 1e30, (double)FLT_MAX
    };
    enum { Sizes = sizeof sizes / sizeof *sizes };
    (void)state;
    random_ = 8;
    for (int f = 0; f < Formats; f++) {
        const double steps = f ? 7.5 : 127;
        for (int64_t r = 0; r < Sizes; r++)
            for (int64_t k = 0; k < K; k++)
                given[r * K + k] = (float)(sizes[r] * (2 * uniform() - 1));
        quantize_given(formats[f], Sizes, K);
        for (int64_t i = 0; i < K; i++)
            assert_true(read_back[i] == 0 && integer[i] == 0);
        assert_true(scale[0] == 0);
        for (int64_t i = 0; i < Sizes * K; i++) {
            const double e = (double)read_back[i] - (double)given[i];
            assert_true(fabs(e) <= sizes[i / K] / steps + 0x1p-142);
        }
        memset(given, 0, sizeof given);
        for (int64_t k = 0; k < K; k++)
            given[k] = k == 60 ? -1000 : (float)gaussian();
        quantize_given(formats[f], 1, K);
        for (int64_t k = 0; k < K; k++)
            assert_true(fabsf(read_back[k] - given[k]) <= 1000 / (float)steps);
        assert_true(fabsf(read_back[60] + 1000) < 1);
    }
}

/* Tests that values that are not finite affect only their own column. */
static void bad_numbers_stay_alone(void **state)
{
    enum { Rows = 20, K = 70 };
    static float clean[Rows * K];
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    (void)state;
    random_ = 9;
    for (int f = 0; f < Formats; f++) {
        fill(Rows * K, gaussian);
        const PackItem item = item_of(formats[f], Rows, K);
        Safetensors *s = file_of(given, Rows, K);
        weights_tensor(&item, s, 1, clean);
        safetensors_close(s);
        for (int i = 0; i < 3; i++)
            given[7 * K + 13 * i] = bad[i];
        s = file_of(given, Rows, K);
        weights_tensor(&item, s, 1, read_back);
        weights_integers(&item, s, 1, integer, scale);
        pack(&item, s, NULL, block);
        safetensors_close(s);
        memcpy(read_back + 7 * K, clean + 7 * K, K * sizeof *clean);
        assert_memory_equal(read_back, clean, sizeof clean);
        for (int64_t i = 0; i < Rows * K; i++)
            assert_true(integer[i] >= -127);
    }
}

/* ---- the same bytes ---- */

/* Tests that a matrix stored transposed, on threads, gives the same, and that a
 * share of a tensor, from any lane on, equals a separate tensor. */
static void ways_are_alike(void **state)
{
    struct attn_pool *pool = attn_pool_open(4);
    (void)state;
    assert_non_null(pool);
    random_ = 10;
    for (int i = 0; i < 60; i++) {
        const int64_t rows = 1 + below(200), k = 1 + below(i % 4 ? 300 : 1200);
        PackItem item = item_of(formats[i % Formats], rows, k);
        item.first = below(2) * below(40);
        item.scaled = below(2);
        item.scale = 0.3f;
        fill(rows * k, student);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < k; c++)
                turned[c * rows + r] = given[r * k + c];
        Safetensors *s = file_of(given, rows, k);
        pack(&item, s, NULL, block);
        assert_block(&item, s);
        for (int threads = 1; threads <= 4; threads++) {
            struct attn_pool *some = attn_pool_open(threads);
            assert_non_null(some);
            pack(&item, s, attn_pool_parallel(some), other);
            assert_memory_equal(block, other, Bytes);
            attn_pool_close(some);
        }
        safetensors_close(s);
        item.from.transposed = true;
        s = file_of(turned, k, rows);
        pack(&item, s, attn_pool_parallel(pool), other);
        assert_memory_equal(block, other, Bytes);
        safetensors_close(s);
    }
    attn_pool_close(pool);
}

/* Tests items that share a block, like q, k and v: each has its own columns and
 * scales. */
static void items_share_a_block(void **state)
{
    enum { K = 130, Items = 3 };
    static const int64_t rows[Items] = { 21, 5, 40 };
    (void)state;
    for (int f = 0; f < Formats; f++) {
        PackItem item[Items];
        static const char *const names[] = { "a", "b", "c" };
        int64_t first = 0;
        memset(other, 0, Bytes);
        for (int i = 0; i < Items; i++) {
            item[i] = item_of(formats[f], rows[i], K);
            item[i].name = item[i].from.name = names[i];
            item[i].first = first;
            item[i].columns = 66;
            item[i].scaled = i == 1;
            item[i].scale = 0.125f;
            first += rows[i];
            pack(&item[i], NULL, NULL, block);
            assert_block(&item[i], NULL);
            for (int64_t at = 0; at < Bytes; at++)
                other[at] |= block[at]; /* each byte belongs to one item */
        }
        const PackList list = { .item = item, .count = Items };
        memset(block, 0, Bytes);
        weights_pack(&list, &(WeightSource){ NULL, 1, NULL, NULL }, block);
        assert_memory_equal(block, other, Bytes);
    }
}

/* Tests the loops of each machine, down to the portable ones. */
static void loops_are_alike(void **state)
{
    enum { Stride = 48 };
    const Loops *plain = loops_of(0);
    (void)state;
    random_ = 12;
    for (int i = 0; i < 300; i++) {
        const int64_t n = i % 3 ? 64 : below(65);
        unsigned char lines[2][1024];
        float most[2][16] = { 0 };
        LaneSums sums[2];
        Step step;
        fill(64 * Stride, i % 2 ? student : gaussian);
        if (i % 10 == 0)
            given[below(Stride)] = NAN;
        plain->largest(given, Stride, n, most[0]);
        for (int c = 0; c < 16; c++) {
            step.step[c] = most[0][c] / 127;
            step.per_step[c] = most[0][c] > 0 ? 127 / most[0][c] : 0;
        }
        for (int v = 1; loops_of(v); v++) {
            const Loops *l[2] = { plain, loops_of(v) };
            memset(most[1], 0, sizeof most[1]);
            l[1]->largest(given, Stride, n, most[1]);
            assert_memory_equal(most[0], most[1], sizeof most[0]);
            for (int f = 0; f < 4; f++) {
                memset(lines, 0, sizeof lines);
                memset(sums, 0, sizeof sums);
                for (int k = 0; k < 2; k++)
                    if (f == 0)
                        l[k]->int8_sums(given, Stride, n, &step, &sums[k]);
                    else if (f == 1)
                        l[k]->int8(given, Stride, n, &step, lines[k], &sums[k]);
                    else
                        l[k]->int4(given, Stride, n, &step, f == 2 ? 32 : 64,
                                   lines[k], &sums[k]);
                assert_memory_equal(lines[0], lines[1], sizeof lines[0]);
                if (i % 10) /* NaNs may have different bits */
                    assert_memory_equal(&sums[0], &sums[1], sizeof *sums);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_least),
        cmocka_unit_test(noise_is_low),
        cmocka_unit_test(integers_come_back),
        cmocka_unit_test(twice_is_once),
        cmocka_unit_test(small_matrices),
        cmocka_unit_test(hard_columns),
        cmocka_unit_test(bad_numbers_stay_alone),
        cmocka_unit_test(ways_are_alike),
        cmocka_unit_test(items_share_a_block),
        cmocka_unit_test(loops_are_alike),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
