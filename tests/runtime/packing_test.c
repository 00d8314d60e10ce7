/* packing_test.c: tests packed weights byte by byte against the definition,
 * element by element: all layouts, types, places in a file, sizes and threads;
 * each machine's loops against the plain ones; values that are not finite. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/weights/weight_loops.h"
#include "runtime/base/pool.h"
#include "support/scratch.h"

/* ---- the definition ---- */
static uint64_t bits(const unsigned char *at, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--)
        v = v << 8 | at[i];
    return v;
}

static float float_of(uint32_t v)
{
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}

static float half_of(uint32_t h)
{
    const uint32_t sign = (h & 0x8000) << 16, rest = h & 0x7fff;
    if (rest >= 0x7c00)
        return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400)
        return float_of(sign | ((rest << 13) + ((127 - 15) << 23)));
    return sign ? -((float)rest * 0x1p-24f) : (float)rest * 0x1p-24f;
}

static float element(StType type, const unsigned char *at, int64_t i)
{
    double d;
    uint64_t v;
    switch (type) {
    case StF32:  return float_of((uint32_t)bits(at + 4 * i, 4));
    case StF16:  return half_of((uint32_t)bits(at + 2 * i, 2));
    case StBF16: return float_of((uint32_t)bits(at + 2 * i, 2) << 16);
    case StI32:  return (float)(int32_t)bits(at + 4 * i, 4);
    case StI64:  return (float)(int64_t)bits(at + 8 * i, 8);
    case StF64:
        v = bits(at + 8 * i, 8);
        memcpy(&d, &v, sizeof d);
        return (float)d;
#define BLOCKS(number, name, elements, bytes, floats) case St##name:
        BLOCK_TYPES(BLOCKS) /* gguf_blocks_test has these */
    case StOther: break;
    }
    return NAN;
}

static uint16_t slow_bf16(float x)
{
    uint32_t v;
    memcpy(&v, &x, sizeof v);
    if (!isnan(x))
        v += 0x7fff + (v >> 16 & 1);
    else if (!(v & 0x7f0000))
        v |= 0x400000;
    return (uint16_t)(v >> 16);
}

/* Returns element i of seeded weights of deviation 1 / sqrt(k) and mean 0. */
static float seeded(uint64_t key, int64_t i, double deviation, float mean)
{
    uint64_t x = key + (uint64_t)i * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    const int sum = (int)((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff)
                          + (x >> 48));
    const double deviate = (sum - 2 * 65535)
                         / sqrt((65536.0 * 65536.0 - 1) / 3);
    return mean + (float)(deviation * deviate);
}

static int64_t place(const FileTensor *f, int64_t i)
{
    return i / f->take * f->stride + f->first + i % f->take;
}

/* Returns the item's element in row r, column c. */
static float wanted(const PackItem *item, const Tensor *t, int64_t r, int64_t c)
{
    const FileTensor *f = &item->from;
    int64_t height = item->rows, width = item->k;
    if (!f->name)
        return (float)f->fill;
    if (f->groups && f->by_columns) {
        c = place(f, c);
        width = f->total;
    } else if (f->groups) {
        r = place(f, r);
        height = f->total;
    }
    const float x = element(t->type, t->at,
                            f->transposed ? c * height + r : r * width + c);
    return f->changed ? fmaf(x, f->scale, f->add) : x;
}

/* Returns its index in the block. */
static int64_t index_of(const PackItem *item, int64_t r, int64_t c)
{
    const int64_t at = item->first + r;
    if (item->layout == PackPanels && item->dtype == DtypeBf16)
        return at / 16 * 16 * ((item->k + 31) / 32 * 32) + at % 16 * 2
             + c / 2 * 32 + c % 2;
    if (item->layout == PackPanels)
        return at / 16 * 16 * item->k + at % 16 + c * 16;
    return item->layout == PackVector ? at + c
                                      : at * ((item->k + 15) / 16 * 16) + c;
}

static void pack_slowly(const PackItem *item, const Tensor *t, void *packed)
{
    char *block = (char *)packed + item->at;
    for (int64_t r = 0; r < item->rows; r++)
        for (int64_t c = 0; c < item->k; c++) {
            float x = wanted(item, t, r, c);
            const int64_t to = index_of(item, r, c);
            if (item->scaled)
                x *= item->scale;
            const uint16_t bf16 = slow_bf16(x);
            if (item->dtype == DtypeBf16)
                memcpy(block + 2 * to, &bf16, sizeof bf16);
            else
                memcpy(block + 4 * to, &x, sizeof x);
        }
}

/* ---- packing ---- */
enum { Items = 4, MostElements = 1 << 20, MostBytes = 1 << 24 };
static _Alignas(64) unsigned char fast[MostBytes], slow[MostBytes];
static unsigned char data[8 * MostElements + 256];
static uint64_t random_;

static int64_t below(int64_t n) /* xorshift */
{
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return (int64_t)((random_ >> 11) % (uint64_t)n);
}

/* Returns a size near that of panels and blocks, or rarely one of many pieces.
 */
static int64_t size_below(int64_t most)
{
    static const int64_t edges[] = { 1, 15, 16, 17, 255, 256, 257, 512 };
    const int64_t n = below(3) ? 1 + below(90)
                               : edges[below(sizeof edges / sizeof *edges)]
                                     + below(2) * 16 * below(40);
    return n < most ? n : most;
}

static const struct {
    const char *name;
    int bytes;
} types[] = { { "F32", 4 }, { "F16", 2 }, { "BF16", 2 }, { "F64", 8 } };

/* Makes a tensor of random bytes, at any alignment, for an item. */
static Safetensors *random_file(PackItem *item, int type, int64_t rows,
                                int64_t columns)
{
    Fault why;
    const int64_t n = rows * columns, bytes = n * types[type].bytes;
    const int header = snprintf((char *)data + 8, 128,
                                "{\"x\":{\"dtype\":\"%s\",\"shape\":[%lld,%lld]"
                                ",\"data_offsets\":[0,%lld]}}%*s",
                                types[type].name, (long long)rows,
                                (long long)columns, (long long)bytes,
                                (int)below(4), "");
    const bool finite = below(2); /* exponents with one bit less */
    unsigned char *to = data + 8 + header;
    memset(data, 0, 8);
    data[0] = (unsigned char)header;
    for (int64_t i = 0; i < bytes; i++)
        to[i] = (unsigned char)below(256);
    for (int64_t i = types[type].bytes - 1; i < bytes && finite;
         i += types[type].bytes)
        to[i] &= 0xbf;
    item->from.name = "x";
    Safetensors *s = safetensors_open(
        scratch_file("x", data, (size_t)(8 + header + bytes)), &why);
    assert_non_null(s);
    return s;
}

/* Chooses the rows or columns of the file's tensor that are the item's. */
static void take_share(PackItem *item)
{
    FileTensor *f = &item->from;
    int64_t *axis = f->by_columns ? &item->k : &item->rows;
    f->groups = 1 + below(3);
    f->take = *axis / f->groups > 0 ? *axis / f->groups : 1;
    *axis = f->take * f->groups;
    f->first = below(20);
    f->stride = f->first + f->take + below(20);
    f->total = f->groups * f->stride;
}

static PackItem random_item(void)
{
    PackItem item = { .name = "y",
                      .layout = (PackLayout)below(3),
                      .dtype = below(2) ? DtypeBf16 : DtypeF32,
                      .at = 64 * below(3),
                      .first = below(2) * below(40),
                      .scaled = below(2),
                      .scale = 0.3f };
    FileTensor *f = &item.from;
    item.rows = size_below(1400);
    item.k = size_below(700);
    f->by_columns = below(2);
    f->transposed = below(2);
    if (item.layout == PackVector) {
        item.rows = 1;
        f->by_columns = true;
        f->transposed = false;
    }
    if (below(2))
        take_share(&item);
    f->changed = !below(3);
    f->scale = -1.7f;
    f->add = 0.1f;
    return item;
}

/* Compares one item of a random file, packed on `with`, with the definition.
 * Checks that values that are not finite are found if the item is the complete
 * tensor. */
static void packs_one(const struct attn_parallel *with)
{
    PackItem item = random_item();
    int64_t rows = item.rows, columns = item.k;
    if (item.from.groups)
        *(item.from.by_columns ? &columns : &rows) = item.from.total;
    const int64_t bytes = 4 * (item.first + 16 + rows) * (columns + 32);
    if (rows * columns > MostElements || bytes + 256 > MostBytes)
        return;
    const int type = (int)below(4);
    Safetensors *s = item.from.transposed
                       ? random_file(&item, type, columns, rows)
                       : random_file(&item, type, rows, columns);
    const Tensor *t = safetensors_at(s, 0);
    const PackList list = { .item = &item, .count = 1 };
    bool bad = false;
    const size_t all = (size_t)(bytes + item.at);
    memset(fast, 0, all);
    memset(slow, 0, all);
    weights_pack(&list, &(WeightSource){ s, 1, with, &bad }, fast);
    pack_slowly(&item, t, slow);
    if (memcmp(fast, slow, all) != 0)
        fail_msg("layout %d, type %s, [%lld, %lld], first %lld, dtype %d, "
                 "transposed %d, by columns %d, %lld groups",
                 (int)item.layout, types[type].name, (long long)item.rows,
                 (long long)item.k, (long long)item.first, (int)item.dtype,
                 item.from.transposed, item.from.by_columns,
                 (long long)item.from.groups);
    if (item.rows * item.k == t->elements)
        assert_int_equal(bad, tensor_not_finite(t) > 0);
    safetensors_close(s);
}

/* Compares integers with those of a file of floats with the same numbers. */
static void packs_integers(const struct attn_parallel *with)
{
    static float x[MostElements];
    PackItem item = random_item();
    Fault why;
    item.layout = PackPanels;
    item.dtype = (Dtype)(DtypeInt8 + below(3));
    int64_t rows = item.rows, columns = item.k;
    if (item.from.groups)
        *(item.from.by_columns ? &columns : &rows) = item.from.total;
    if (rows * columns > MostElements)
        return;
    const int type = (int)below(4);
    Safetensors *s = item.from.transposed
                       ? random_file(&item, type, columns, rows)
                       : random_file(&item, type, rows, columns);
    const PackList list = { .item = &item, .count = 1 };
    for (int64_t i = 0; i < item.rows * item.k; i++) {
        x[i] = wanted(&item, safetensors_at(s, 0), i / item.k, i % item.k);
        if (!isfinite(x[i])) {
            safetensors_close(s);
            return;
        }
    }
    memset(fast, 0, sizeof fast);
    weights_pack(&list, &(WeightSource){ s, 1, with, NULL }, fast);
    safetensors_close(s);
    const TensorOut t = {
        .name = "x", .rank = 2, .dim = { item.rows, item.k }, .data = x
    };
    assert_true(safetensors_write(scratch_path("x"), &t, 1, &why));
    s = safetensors_open(scratch_path("x"), &why);
    item.from = (FileTensor){ .name = "x" };
    memset(slow, 0, sizeof slow);
    weights_pack(&list, &(WeightSource){ s, 1, NULL, NULL }, slow);
    assert_memory_equal(fast, slow, sizeof fast);
    safetensors_close(s);
}

static void packs_as_defined(void **state)
{
    struct attn_pool *pool = attn_pool_open(3);
    (void)state;
    assert_non_null(pool);
    for (int i = 0; i < 400; i++) {
        random_ = ((uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
        packs_one(i % 2 ? attn_pool_parallel(pool) : NULL);
        if (i % 4 == 0)
            packs_integers(i % 8 ? attn_pool_parallel(pool) : NULL);
    }
    attn_pool_close(pool);
}

/* Tests several items of one block, on threads: the same as sequentially. */
static void threads_change_nothing(void **state)
{
    enum { K = 300 };
    PackItem item[Items] = { 0 };
    struct attn_pool *pool = attn_pool_open(3);
    int64_t first = 0;
    (void)state;
    for (int i = 0; i < Items; i++) {
        static const int64_t rows[Items] = { 1003, 5, 3000, 49 };
        static const char *const names[Items] = { "a", "b", "c", "d" };
        item[i] = (PackItem){ .name = names[i],
                              .from.name = names[i],
                              .layout = PackPanels,
                              .first = first,
                              .rows = rows[i],
                              .k = K };
        first += rows[i];
    }
    const PackList list = { .item = item, .count = Items };
    memset(fast, 0, sizeof fast);
    memset(slow, 0, sizeof slow);
    weights_pack(&list, &(WeightSource){ NULL, 9, NULL, NULL }, slow);
    weights_pack(&list,
                 &(WeightSource){ NULL, 9, attn_pool_parallel(pool), NULL },
                 fast);
    assert_memory_equal(fast, slow, sizeof fast);
    attn_pool_close(pool);
}

/* Tests that the packer and the check find every number that is not finite, and
 * report the same. */
static void finds_what_is_not_finite(void **state)
{
    enum { Rows = 40, K = 600 };
    static float x[Rows * K];
    Fault why;
    PackItem item = { .name = "x",
                      .from.name = "x",
                      .layout = PackPanels,
                      .rows = Rows,
                      .k = K };
    const PackList list = { .item = &item, .count = 1 };
    const TensorOut t = {
        .name = "x", .rank = 2, .dim = { Rows, K }, .data = x
    };
    (void)state;
    for (int i = 0; i < 60; i++) {
        bool bad = false;
        const int64_t at = i == 0 ? 0 : i == 1 ? Rows * K - 1 : below(Rows * K);
        memset(x, 0, sizeof x);
        x[at] = i % 3 ? NAN : -INFINITY;
        assert_true(safetensors_write(scratch_path("x"), &t, 1, &why));
        Safetensors *s = safetensors_open(scratch_path("x"), &why);
        weights_pack(&list, &(WeightSource){ s, 1, NULL, &bad }, fast);
        assert_true(bad);
        Report told = { .bad = &bad, .allow_nan = i % 3 };
        Report looked = { .allow_nan = i % 3 }; /* infinities always are */
        assert_true(weights_check(&list, s, &told));
        assert_true(weights_check(&list, s, &looked));
        assert_string_equal(told.text, looked.text);
        assert_non_null(strstr(told.text, "1 of 24000 values are NaN"));
        report_free(&told);
        report_free(&looked);
        safetensors_close(s);
    }
}

/* Tests that the check reads the elements that the packer did not. */
static void looks_at_what_is_left(void **state)
{
    static float x[4] = { 1, 2, 3, NAN };
    Fault why;
    PackItem item = { .name = "x",
                      .from = { .name = "x",
                                .by_columns = true,
                                .groups = 1,
                                .take = 2,
                                .stride = 4,
                                .total = 4 },
                      .layout = PackVector,
                      .rows = 1,
                      .k = 2 };
    const PackList list = { .item = &item, .count = 1 };
    const TensorOut t = { .name = "x", .rank = 1, .dim = { 4 }, .data = x };
    bool bad = false;
    Report r = { .bad = &bad, .allow_nan = true };
    (void)state;
    assert_true(safetensors_write(scratch_path("x"), &t, 1, &why));
    Safetensors *s = safetensors_open(scratch_path("x"), &why);
    weights_pack(&list, &(WeightSource){ s, 1, NULL, &bad }, fast);
    assert_false(bad);
    assert_true(weights_check(&list, s, &r));
    assert_non_null(strstr(r.text, "1 of 4 values are NaN"));
    report_free(&r);
    safetensors_close(s);
}

/* Tests the bytes of integers, which are the same on every machine and
 * compiler. */
static void integers_are_known(void **state)
{
    static const uint64_t known[] = { 0xc9b173e484b0654e, 0xf6a2b65af59445a8,
                                      0xbf27eebd3a3fbaac };
    (void)state;
    for (int i = 0; i < 3; i++) {
        PackItem item = { .name = "w",
                          .from.name = "w",
                          .layout = PackPanels,
                          .dtype = (Dtype)(DtypeInt8 + i),
                          .first = 3,
                          .rows = 300,
                          .k = 500 };
        const PackList list = { .item = &item, .count = 1 };
        memset(fast, 0, sizeof fast);
        weights_pack(&list, &(WeightSource){ NULL, 9, NULL, NULL }, fast);
        const uint64_t hash = attn_hash(fast, sizeof fast, 0);
        if (hash != known[i])
            fail_msg("%s: 0x%llx", dtype_word[item.dtype],
                     (unsigned long long)hash);
    }
}

/* ---- loops ---- */
enum { N = 3001 };
static float plain[4 * N], wide[4 * N];

static void assert_floats(const float *x, const float *y, int64_t n)
{
    assert_memory_equal(x, y, (size_t)n * sizeof *x);
}

static void converts(const Loops *l)
{
    for (StType type = StF32; type <= StF64; type++)
        for (int i = 0; i < 40; i++) {
            const int64_t first = below(100), n = below(N);
            l->floats(type, data + i, first, n, wide);
            for (int64_t k = 0; k < n; k++)
                plain[k] = element(type, data + i, first + k);
            assert_floats(wide, plain, n);
        }
    for (uint32_t v = 0; v < 65536; v++) { /* each f16, between others */
        float x[33];
        for (int k = 0; k < 33; k++) {
            data[2 * k] = v & 255;
            data[2 * k + 1] = (unsigned char)(v >> 8);
        }
        l->floats(StF16, data, 0, 33, x);
        const float want = half_of(v);
        assert_memory_equal(&x[32], &want, sizeof want);
        assert_memory_equal(&x[0], &want, sizeof want);
    }
}

/* Compares n lines of `wide` as pairs with `plain`. */
static void pairs(const Loops *l, int64_t n)
{
    static uint32_t pair[(N / 2 + 1) / ATTN_PANEL * ATTN_PANEL + ATTN_PANEL];
    l->bf16_pairs(wide, n, pair);
    for (int64_t k = 0; k < (n + 1) / 2; k++)
        for (int64_t c = 0; c < ATTN_PANEL; c++) {
            const float *x = plain + 2 * k * ATTN_PANEL + c;
            const uint32_t high = 2 * k + 1 < n ? slow_bf16(x[ATTN_PANEL]) : 0;
            assert_int_equal(pair[k * ATTN_PANEL + c],
                             slow_bf16(*x) | high << 16);
        }
}

static void changes(const Loops *l)
{
    static uint16_t half[N];
    for (int i = 0; i < 20; i++) {
        const int64_t n = below(N);
        int64_t count = 0;
        for (int64_t k = 0; k < N; k++)
            plain[k] = float_of((uint32_t)below(INT32_MAX) * 2
                                + (uint32_t)below(2));
        memcpy(wide, plain, sizeof wide);
        for (int64_t k = 0; k < n; k++)
            count += !isfinite(plain[k]);
        assert_int_equal(l->not_finite(wide, n), count);
        l->bf16(wide, n, half);
        for (int64_t k = 0; k < n; k++)
            assert_int_equal(half[k], slow_bf16(plain[k]));
        pairs(l, n / ATTN_PANEL);
        l->change(wide, n, -0.3f, 1.5f);
        for (int64_t k = 0; k < n; k++)
            plain[k] = fmaf(plain[k], -0.3f, 1.5f);
        assert_floats(wide, plain, N);
        l->scale(wide, n, 0.7f);
        for (int64_t k = 0; k < n; k++)
            plain[k] *= 0.7f;
        assert_floats(wide, plain, N);
    }
}

static void transposes(const Loops *l)
{
    for (int64_t n = 0; n < 150; n++) {
        const int64_t stride = n + below(20);
        for (int64_t k = 0; k < 4 * N; k++)
            plain[k] = (float)k;
        l->transpose(plain, stride, n, wide);
        for (int64_t k = 0; k < n; k++)
            for (int64_t r = 0; r < 16; r++)
                assert_true(wide[16 * k + r] == plain[r * stride + k]);
    }
}

static void makes_deviates(const Loops *l)
{
    static const double deviation[] = { 0.02, 0.04419417382415922, 1, 1e-3 };
    for (int i = 0; i < 100; i++) {
        const uint64_t key = (uint64_t)below(INT32_MAX) << 33 | 12345;
        const int64_t first = below(3) ? below(1 << 30) * 9 : 0, n = below(N);
        const float mean = i % 2 ? 1 : 0;
        l->deviates(key, first, n, deviation[i % 4], mean, wide);
        for (int64_t k = 0; k < n; k++)
            plain[k] = seeded(key, first + k, deviation[i % 4], mean);
        assert_floats(wide, plain, n);
    }
}

/* Tests the loops of each machine, down to the portable ones. */
static void loops_are_alike(void **state)
{
    (void)state;
    random_ = 7;
    for (int v = 0; loops_of(v); v++) {
        for (size_t i = 0; i < sizeof data / 8; i++)
            data[i] = (unsigned char)below(256);
        converts(loops_of(v));
        changes(loops_of(v));
        transposes(loops_of(v));
        makes_deviates(loops_of(v));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packs_as_defined),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(finds_what_is_not_finite),
        cmocka_unit_test(looks_at_what_is_left),
        cmocka_unit_test(integers_are_known),
        cmocka_unit_test(loops_are_alike),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
