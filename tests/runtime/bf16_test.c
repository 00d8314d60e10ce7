/* bf16_test.c: tests rounding to bf16 against its definition, for every upper
 * half and critical lower halves; and blocks of packed weights in bf16. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/rt.h"
#include "support/scratch.h"

static float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* ---- rounding ---- */

/* Returns the upper half as a number with an unbounded exponent: the largest
 * float is followed by 2^128, which stands for infinity. */
static double value_of(uint32_t top)
{
    const int exponent = top >> 7 & 0xff;
    const double fraction = top & 0x7f;
    return exponent ? ldexp(128 + fraction, exponent - 127 - 7)
                    : ldexp(fraction, 1 - 127 - 7);
}

/* Returns the nearest of the two bf16 around x, the lower of which is `top`; of
 * equally near ones the even one. */
static uint32_t nearest_of(float x, uint32_t top)
{
    const double size = fabs((double)x), low = value_of(top & 0x7fff);
    const double high = value_of((top & 0x7fff) + 1);
    const bool up = high - size < size - low
                 || (high - size <= size - low && top & 1);
    return top + up;
}

static void rounds_to_the_nearest(void **state)
{
    static const uint32_t tails[] = { 0,      1,      0x1234, 0x7fff,
                                      0x8000, 0x8001, 0xfffe, 0xffff };
    (void)state;
    for (uint32_t top = 0; top < 65536; top++)
        for (size_t t = 0; t < sizeof tails / sizeof *tails; t++) {
            const float x = float_of(top << 16 | tails[t]);
            const uint32_t got = bf16_of(x);
            if (isnan(x)) {
                assert_true(isnan(bf16_float((uint16_t)got)));
                assert_int_equal(got >> 15, top >> 15);
            } else if (isinf(x)) {
                assert_int_equal(got, top);
            } else if (got != nearest_of(x, top)) {
                fail_msg("%a becomes %04x, not %04x", (double)x, (unsigned)got,
                         (unsigned)nearest_of(x, top));
            }
        }
}

static void known_numbers(void **state)
{
    (void)state;
    assert_int_equal(bf16_of(1.0f), 0x3f80);
    assert_int_equal(bf16_of(-2.0f), 0xc000);
    assert_int_equal(bf16_of(-0.0f), 0x8000);
    assert_int_equal(bf16_of(0x1.01p+0f), 0x3f80); /* ties: to even, */
    assert_int_equal(bf16_of(0x1.03p+0f), 0x3f82); /* down and up */
    assert_int_equal(bf16_of(0x1.010002p+0f), 0x3f81);
    assert_int_equal(bf16_of(0x1.fep+127f), 0x7f7f); /* the largest */
    assert_int_equal(bf16_of(0x1.fffffep+127f), 0x7f80);
    assert_int_equal(bf16_of(0x1p-149f), 0);
    assert_int_equal(bf16_of(0x1.8p-134f), 1); /* denormal */
    assert_int_equal(bf16_of(0x1p-134f), 0);   /* a tie */
}

static void stored_numbers_stay(void **state)
{
    (void)state;
    for (uint32_t v = 0; v < 65536; v++)
        assert_int_equal(bf16_of(bf16_float((uint16_t)v)), v);
}

/* ---- packing ---- */
enum { Side = 256 }; /* of a matrix of all patterns */
static _Alignas(64) uint16_t packed[2 * Side * Side];
static float plain[Side * Side];

static void pack(PackItem *item, int64_t n, const Safetensors *s)
{
    PackList list = { .item = item, .count = n, .bytes = sizeof packed };
    memset(packed, 0, sizeof packed);
    weights_pack(&list, &(WeightSource){ .file = s, .seed = 3 }, packed);
}

static Safetensors *all_patterns(void)
{
    static unsigned char data[2 * Side * Side];
    const char *header = "{\"x\":{\"dtype\":\"BF16\",\"shape\":[256,256],"
                         "\"data_offsets\":[0,131072]}}";
    Fault why;
    for (unsigned v = 0; v < 65536; v++) {
        data[2 * v] = v & 255;
        data[2 * v + 1] = (unsigned char)(v >> 8);
    }
    Safetensors *s = safetensors_open(scratch_tensors(strlen(header), header,
                                                      strlen(header), data,
                                                      sizeof data),
                                      &why);
    assert_non_null(s);
    return s;
}

/* Returns element (row, k) of the item, in its layout. */
static uint16_t at(const PackItem *item, int64_t row, int64_t k)
{
    const uint16_t *block = packed + item->at / 2;
    return item->layout == PackRows
             ? block[row * item->k + k]
             : block[row / 16 * 16 * dtype_stored(DtypeBf16, item->k)
                     + k / 2 * 32 + row % 16 * 2 + k % 2];
}

static void packs_what_is_stored(void **state)
{
    static const PackLayout layouts[] = { PackPanels, PackRows };
    (void)state;
    Safetensors *s = all_patterns();
    for (int i = 0; i < 2; i++) {
        PackItem item = { .name = "x",
                          .from.name = "x",
                          .dtype = DtypeBf16,
                          .rows = Side,
                          .k = Side,
                          .layout = layouts[i],
                          .columns = Side,
                          .at = 128 };
        pack(&item, 1, s);
        for (uint32_t v = 0; v < 65536; v++)
            assert_int_equal(at(&item, v / Side, v % Side), v);
        assert_int_equal(packed[63], 0);
        assert_int_equal(packed[64 + Side * Side], 0);
    }
    safetensors_close(s);
}

/* Tests folded factors: powers of 2 are exact; for others the product is
 * rounded to float, then to bf16. The oracle reads the rounded elements without
 * the factor. */
static void scales_before_it_rounds(void **state)
{
    (void)state;
    Safetensors *s = all_patterns();
    for (int i = 0; i < 2; i++) {
        const float scale = i ? 0.3f : 0.125f;
        PackItem item = { .name = "x",
                          .from.name = "x",
                          .dtype = DtypeBf16,
                          .rows = Side,
                          .k = Side,
                          .layout = PackPanels,
                          .columns = Side,
                          .scale = scale,
                          .scaled = true };
        pack(&item, 1, s);
        for (uint32_t v = 0; v < 65536; v++) {
            const float x = bf16_float((uint16_t)v) * scale;
            const uint16_t got = at(&item, v / Side, v % Side);
            if (isnan(x))
                assert_true(isnan(bf16_float(got)));
            else
                assert_int_equal(got, bf16_of(x));
        }
    }
    safetensors_close(s);
}

static void the_oracle_has_the_rounded(void **state)
{
    PackItem item = { .name = "w.weight",
                      .from.name = "w",
                      .rows = 33,
                      .k = 21,
                      .layout = PackPanels,
                      .columns = 33,
                      .dtype = DtypeBf16 };
    int changed = 0;
    (void)state;
    pack(&item, 1, NULL);
    weights_tensor(&item, NULL, 3, plain);
    for (int64_t r = 0; r < 33; r++)
        for (int64_t k = 0; k < 21; k++)
            assert_true(plain[r * 21 + k] == bf16_float(at(&item, r, k)));
    item.dtype = DtypeF32;
    static float exact[33 * 21];
    weights_tensor(&item, NULL, 3, exact);
    for (int i = 0; i < 33 * 21; i++) {
        changed += plain[i] < exact[i] || plain[i] > exact[i];
        assert_true(fabsf(plain[i] - exact[i]) <= 0x1p-8f * fabsf(exact[i]));
    }
    assert_true(changed > 600);
}

/* Tests that a matrix in bf16x2 has two numbers for each element, 32 k of one
 * and then of the other, also if its rows begin within a panel or are
 * transposed in the file, and that the oracle reads their sum. */
static void splits_into_two(void **state)
{
    enum { Rows = 37, K = 45, First = 5 };
    static float exact[Rows * K];
    (void)state;
    PackItem item = { .name = "w.weight",
                      .from.name = "w",
                      .rows = Rows,
                      .k = K,
                      .first = First,
                      .layout = PackPanels,
                      .columns = Rows + First,
                      .dtype = DtypeBf16x2,
                      .flushed = true };
    pack(&item, 1, NULL);
    weights_tensor(&item, NULL, 3, plain);
    item.dtype = DtypeF32;
    weights_tensor(&item, NULL, 3, exact);
    for (int64_t i = 0; i < Rows * K; i++) {
        const int64_t row = i / K + First, k = i % K;
        const uint16_t *at = packed + row / 16 * 64 * 32 + k / 32 * 1024
                           + k % 32 / 2 * 32 + row % 16 * 2 + k % 2;
        const float first = bf16_float(bf16_of(exact[i]));
        assert_int_equal(at[0], bf16_of(exact[i]));
        assert_int_equal(at[512], bf16_of(exact[i] - first));
        assert_true(plain[i] == first + bf16_float(at[512]));
        assert_true(fabsf(plain[i] - exact[i]) <= 0x1p-17f * fabsf(exact[i]));
    }
}

/* ---- the file ---- */
static void another_format_is_refused(void **state)
{
    static const char page[ATTN_PACKED_PAGE + 64];
    static _Alignas(64) char image[sizeof page];
    char text[ATTN_PACKED_TEXT], expected[ATTN_PACKED_TEXT];
    (void)state;
    for (int i = 0; i < Dtypes * Dtypes; i++) {
        const int has = i % Dtypes, wants = i / Dtypes;
        PackList list = {
            .name = "m", .bytes = 64, .hash = 7, .dtype = dtype_word[has]
        };
        const struct attn_model m = { .name = "m",
                                      .weights_bytes = 64,
                                      .command = "attnc compile m.yaml",
                                      .weights_hash = 7,
                                      .dtype = dtype_word[wants] };
        assert_int_equal(weights_image(image, &(PackedModel){ .list = &list,
                                                              .packed = page }),
                         sizeof image);
        const char *said = attn_packed_check(&m, image, sizeof image, 1, text);
        if (has == wants) {
            assert_null(said);
            continue;
        }
        snprintf(expected, sizeof expected,
                 "its weights are %s, this program's %s; pack it again: attnc "
                 "compile m.yaml",
                 dtype_word[has], dtype_word[wants]);
        assert_string_equal(said, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_to_the_nearest),
        cmocka_unit_test(known_numbers),
        cmocka_unit_test(stored_numbers_stay),
        cmocka_unit_test(packs_what_is_stored),
        cmocka_unit_test(scales_before_it_rounds),
        cmocka_unit_test(the_oracle_has_the_rounded),
        cmocka_unit_test(splits_into_two),
        cmocka_unit_test(another_format_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
