/* tile_int_test.c: tests integer tiles, in all variants, bit for bit against
 * 64-bit sums and, if rows are floats, against the defined chain of FMAs. */
/* limit: 900 s */
#define _GNU_SOURCE
#include "backend/backend.h"
#include "emit/tile/needs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/scratch.h"
#include "support/kernel_lab.h"
#include "support/skip.h"

enum {
    MostK = 200,
    Stored = 256, /* the most that MostK takes */
    Wide = 64,
    High = 16,
    C = 112,
    Apart = 28, /* distance of C's panels, if it is an argument */
    RowBytes = 2 * Stored + 64,
    PanelBytes = 16 * Stored + 128,
    WideRow = 4 * Stored + 64,
    WidePanel = 32 * Stored + 128,
    FloatPanel = 64 * Stored + 64,
    Full = EpBias | EpAct | EpResidual
};

/* by all dtypes and arithmetics */
static const TileKey forms[] = {
    { .mr = 1, .nr = 16, .epilogue = 0 },
    { .mr = 1, .nr = 64, .epilogue = Full | EpPrefetch, .act = ActGelu },
    { .mr = 2, .nr = 48, .epilogue = EpBias | EpAct, .act = ActRelu },
    { .mr = 3, .nr = 16, .epilogue = EpAny },
    { .mr = 5, .nr = 32, .epilogue = EpBias | EpResidual },
};
enum { Forms = sizeof forms / sizeof *forms, Tiles = Forms * 12 };
static TileKey tiles[Tiles];

static const LabWay ways[] = {
    { NULL, "icelake-server", 16, NULL },
    { NULL, "x86-64-v4", 16, NULL },
    { NULL, "alderlake", 8, NULL },
    { NULL, "x86-64-v3", 8, NULL },
    { NULL, "x86-64-v2", 4, NULL },
    { NULL, "armv8.2-a+dotprod", 4, NULL },
    { NULL, "armv8-a", 4, NULL },
    { "clang-19", "icelake-server", 16, NULL },
    { "gcc", "icelake-server", 16, NULL },
    { "gcc", "icelake-server", 8, NULL },
    { "clang-19", "icelake-server", 4, NULL },
    { "clang-19", "x86-64-v4", 16, NULL },
    { "gcc", "x86-64-v4", 16, NULL },
    { "clang-19", "alderlake", 8, NULL },
    { "gcc", "alderlake", 4, NULL },
    { "clang-19", "x86-64-v3", 8, NULL },
    { "gcc", "x86-64-v3", 8, NULL },
    { "clang-19", "x86-64-v3", 4, NULL },
    { "gcc", "x86-64-v2", 4, NULL },
    { "clang-19", "armv8.2-a+dotprod", 4, NULL },
    { "aarch64-linux-gnu-gcc", "armv8.2-a+dotprod", 4, NULL },
    { "clang-19", "armv8-a", 4, NULL },
    { "clang-19", "armv8-a", 4, "x86-64-v3" },
    { "gcc", "armv8-a", 4, "x86-64-v3" },
    { "clang-19", "x86-64-v3", 1, NULL },
    { "tcc", "generic", 1, NULL },
    { NULL, NULL, 0, NULL },
};

static const char *const kernels[] = {
    "activate_rows_relu",      "activate_rows_gelu",
    "activate_rows_gelu_tanh", "activate_rows_silu",
    "embed_row_int8",          "embed_row_int4",
    "embed_row_int4g64",       "unpack_int4",
    "unpack_int4g64",          NULL
};
static const char *const wide_kernels[] = { "widen_int8", "widen_int4",
                                            "widen_int4g64", "widen_rows",
                                            NULL };
static const char *const float_kernels[] = { "float_int8", "float_int4",
                                             "float_int4g64", NULL };
typedef void Activate(float *, int64_t, const float *, int64_t, int64_t,
                      int64_t);

typedef enum { NumbersAny, NumbersMost, NumbersLeast, Numbers } Fullness;

static _Alignas(64) uint8_t panels[Wide / 16 * PanelBytes];
static _Alignas(64) uint8_t bytes[High * RowBytes];
static _Alignas(64) float floats[High * Stored];
static int weight[Wide][Stored]; /* values in the panels */
static float scale[Wide], unit[High], bias[C], residual[High * C];
static float c[(High + 1) * C], want[(High + 1) * C];

static int64_t stored_of(int64_t k)
{
    return (k + 63) / 64 * 64;
}

static int64_t panel_bytes(Dtype d, int64_t k)
{
    return 128
         + (d == DtypeInt4      ? stored_of(k) / 64 * 576
            : d == DtypeInt4g64 ? (k + 127) / 128 * 1088
                                : stored_of(k) * 16);
}

static int random_in(int from, int to)
{
    return from + (int)(lab_random() % (uint32_t)(to - from + 1));
}

static float random_scale(void)
{
    return (float)random_in(1, 1 << 20) * 0x1p-24f;
}

/* ---- panels ---- */

static int number(Fullness full, int least, int most)
{
    return full == NumbersMost  ? most
         : full == NumbersLeast ? least
                                : random_in(least, most);
}

/* For int8, numbers from k on are zeros. */
static void fill_int8(int64_t k, Fullness full)
{
    for (int64_t n = 0; n < Wide; n++)
        for (int64_t i = 0; i < stored_of(k); i++) {
            weight[n][i] = i < k ? number(full, -127, 127) : 0;
            panels[n / 16 * panel_bytes(DtypeInt8, k) + i / 4 * 64 + n % 16 * 4
                   + i % 4] = (uint8_t)weight[n][i];
        }
}

/* Fills group g of column n, of `shared` numbers; those from k on are
 * arbitrary. */
static void fill_group(Dtype d, int64_t k, int64_t n, int64_t g, Fullness full)
{
    const int64_t shared = d == DtypeInt4 ? 32 : 64, lines = 16 * shared;
    uint8_t *pair = panels + n / 16 * panel_bytes(d, k) + g / 2 * (lines + 64);
    const int step = number(full, 1, 16);
    const int offset = random_in(8 * step - 127, 127 - 7 * step);
    pair[lines + g % 2 * 32 + n % 16] = (uint8_t)step;
    pair[lines + g % 2 * 32 + 16 + n % 16] = (uint8_t)offset;
    for (int64_t i = 0; i < shared; i++) {
        const int four = number(full, 0, 15);
        uint8_t *at = pair + g % 2 * lines / 2 + i / 8 * 64 + n % 16 * 4
                    + i % 4;
        weight[n][g * shared + i] = (four - 8) * step + offset;
        *at = (uint8_t)(i / 4 % 2 ? *at | four << 4 : four);
    }
}

static void fill_panels(Dtype d, int64_t k, Fullness full)
{
    if (d == DtypeInt8)
        fill_int8(k, full);
    for (int64_t n = 0; n < Wide && d != DtypeInt8; n++)
        for (int64_t g = 0; g < stored_of(k) / (d == DtypeInt4 ? 32 : 64); g++)
            fill_group(d, k, n, g, full);
    for (int64_t n = 0; n < Wide; n++) {
        uint8_t *end = panels + (n / 16 + 1) * panel_bytes(d, k) - 128;
        int32_t minus = 0;
        for (int64_t i = 0; i < stored_of(k); i++)
            minus -= 128 * weight[n][i];
        scale[n] = random_scale();
        memcpy(end + n % 16 * 4, &scale[n], 4);
        memcpy(end + 64 + n % 16 * 4, &minus, 4);
    }
}

/* ---- rows ---- */

/* Fills floats with NaN from k on, and bytes with the code of 0. */
static void fill_rows(Arithmetic a, int64_t k, Fullness full)
{
    const int64_t stored = stored_of(k), planes = a == ArithmeticInt15 ? 2 : 1;
    lab_fill(floats, High * Stored, FillUniform);
    for (int64_t r = 0; r < High; r++) {
        uint8_t *row = bytes + r * RowBytes;
        for (int64_t i = 0; i < stored; i++) {
            row[i] = (uint8_t)(i < k ? number(full, 1, 255) : 128);
            row[stored + i] = (uint8_t)(i < k ? random_in(0, 127) : 0);
        }
        for (int64_t i = k; i < Stored; i++)
            floats[r * Stored + i] = NAN;
        unit[r] = random_scale();
        memcpy(row + planes * stored, &unit[r], 4);
    }
}

/* ---- in 16 bits ---- */

static _Alignas(64) uint8_t wide_panels[Wide / 16 * WidePanel];
static _Alignas(64) uint8_t wide_bytes[High * WideRow];

static int64_t wide_panel_bytes(int64_t k)
{
    return 2 * panel_bytes(DtypeInt8, k) - 128;
}

/* Returns the position of number i in its group of four. */
static int64_t wide_at(int64_t i)
{
    return i / 4 * 4 + i % 2 * 2 + i % 4 / 2;
}

static void widen_panels(Dtype d, int64_t k)
{
    for (int64_t n = 0; n < Wide; n++) {
        uint8_t *panel = wide_panels + n / 16 * wide_panel_bytes(k);
        for (int64_t i = 0; i < stored_of(k); i++) {
            const int64_t at = wide_at(i);
            const int16_t x = (int16_t)weight[n][i];
            memcpy(panel + at / 2 * 64 + n % 16 * 4 + at % 2 * 2, &x, 2);
        }
        memcpy(panel + wide_panel_bytes(k) - 128,
               panels + (n / 16 + 1) * panel_bytes(d, k) - 128, 128);
    }
}

static void widen_bytes(Arithmetic a, int64_t k)
{
    const int64_t n = stored_of(k) * (a == ArithmeticInt15 ? 2 : 1);
    for (int64_t r = 0; r < High; r++) {
        const uint8_t *row = bytes + r * RowBytes;
        for (int64_t i = 0; i < n; i++) {
            const uint16_t x = row[i];
            memcpy(wide_bytes + r * WideRow + wide_at(i) * 2, &x, 2);
        }
        memcpy(wide_bytes + r * WideRow + 2 * n, row + n, 4);
    }
}

/* ---- in f32 ---- */

static _Alignas(64) float float_panels[Wide / 16 * FloatPanel / 4];

static void float_panels_of(Dtype d, int64_t k)
{
    for (int64_t n = 0; n < Wide; n++) {
        float *panel = float_panels + n / 16 * (64 * k + 64) / 4;
        for (int64_t i = 0; i < k; i++)
            panel[i * 16 + n % 16] = (float)weight[n][i];
        memcpy(panel + k * 16, panels + (n / 16 + 1) * panel_bytes(d, k) - 128,
               64);
    }
}

static void fill_both(TileKey key, int64_t k, Fullness full, Fullness rows)
{
    fill_panels(key.dtype, k, full);
    fill_rows(key.arithmetic, k, rows);
    if (key.wide && key.arithmetic == ArithmeticF32) {
        float_panels_of(key.dtype, k);
    } else if (key.wide) {
        widen_panels(key.dtype, k);
        widen_bytes(key.arithmetic, k);
    }
}

/* ---- results ---- */

static float sum_of(TileKey key, int64_t k, int64_t r, int64_t n)
{
    const uint8_t *row = bytes + r * RowBytes;
    int64_t sum = 0, low = 0;
    float x = 0.0f;
    for (int64_t i = 0; i < k; i++) {
        sum += (row[i] - 128) * weight[n][i];
        low += row[stored_of(k) + i] * weight[n][i];
        x = fmaf(floats[r * Stored + i], (float)weight[n][i], x);
    }
    switch (key.arithmetic) {
    case ArithmeticInt8: return (float)sum * (unit[r] * scale[n]);
    case ArithmeticInt15:
        return fmaf(128.0f, (float)sum, (float)low) * (unit[r] * scale[n]);
    default: return x * scale[n];
    }
}

static float activated(const Lab *l, Activation act, float x)
{
    Activate *f = (Activate *)lab_function(
        l, arena_printf(lab_arena, "activate_rows_%s", act_text[act].plain));
    f(&x, 1, &x, 1, 1, 1);
    return x;
}

static int64_t ldp_of(TileKey key)
{
    return key.epilogue & EpAny ? Apart : 16;
}

static void expect(const Lab *l, TileKey key, int parts, Activation act,
                   int64_t k)
{
    lab_guard(want, (High + 1) * C);
    for (int64_t r = 0; r < key.mr; r++)
        for (int64_t n = 0; n < key.nr; n++) {
            const int64_t column = n / 16 * ldp_of(key) + n % 16;
            const int64_t at = r * C + column;
            float x = sum_of(key, k, r, n);
            if (parts & EpBias)
                x += bias[column];
            if (parts & EpAct)
                x = activated(l, act, x);
            if (parts & EpResidual)
                x += residual[at];
            want[at] = x;
        }
}

/* ---- tiles ---- */

static void call_tile(const Lab *l, TileKey key, int parts, Activation act,
                      int64_t k)
{
    const bool of_floats = key.arithmetic == ArithmeticF32;
    const int64_t all[TileParameters] = {
        (int64_t)(of_floats  ? (void *)floats
                  : key.wide ? (void *)wide_bytes
                             : (void *)bytes),
        of_floats  ? Stored
        : key.wide ? WideRow
                   : RowBytes,
        !key.wide   ? (int64_t)panels
        : of_floats ? (int64_t)float_panels
                    : (int64_t)wide_panels,
        !key.wide   ? panel_bytes(key.dtype, k)
        : of_floats ? 64 * k + 64
                    : wide_panel_bytes(k),
        k,
        (int64_t)c,
        C,
        parts & EpBias ? (int64_t)bias : 0,
        parts & EpResidual ? (int64_t)residual : 0,
        C,
        parts & EpAct ? act : ActNone,
        (int64_t)panels,
        line_numbers(key.dtype),
        ldp_of(key),
    };
    lab_call_tile(l, key, all);
}

static void run_tile(const Lab *l, TileKey key, int parts, Activation act,
                     int64_t k)
{
    key.width = l->target.width;
    key.prebuilt = !l->object;
    if (key.arithmetic == ArithmeticF32 && !l->target.fma)
        return;
    if (key.wide && !copies_have_tiles(&l->target, key.arithmetic))
        return;
    expect(l, key, parts, act, k);
    lab_guard(c, (High + 1) * C);
    call_tile(l, key, parts, act, k);
    for (int64_t i = 0; i < (High + 1) * C; i++)
        if (memcmp(&c[i], &want[i], 4) != 0)
            fail_msg("%s: %s, k %d: row %d, column %d is %a, expected %a",
                     l->name, tile_name(lab_arena, key), (int)k, (int)i / C,
                     (int)i % C, (double)c[i], (double)want[i]);
}

static const int64_t depths[] = { 1, 2, 3, 4, 5, 31, 32, 63, 64, 65, 96, 200 };
enum { Depths = sizeof depths / sizeof *depths };

static void test_emitted(void **state)
{
    (void)state;
    int cases = 0;
    for (int t = 0; t < Tiles; t++)
        for (int d = 0; d < Depths; d++, cases++) {
            const TileKey key = tiles[t];
            fill_both(key, depths[d], (Fullness)(cases % Numbers),
                      (Fullness)(cases / Numbers % Numbers));
            for (int i = 0; i < n_labs; i++)
                if (lab[i].object)
                    run_tile(&lab[i], key,
                             key.epilogue == EpAny ? Full : key.epilogue,
                             key.epilogue == EpAny ? ActGelu : key.act,
                             depths[d]);
        }
    assert_true(cases > 0);
}

/* Tests every size in every lab, with each of the eight forms in turn. */
static void run_prebuilt(TileKey key)
{
    static const Activation turn[] = { ActRelu, ActGeluTanh, ActSilu };
    static const int64_t some[] = { 3, 65, 200 };
    key.epilogue = EpAny;
    for (key.mr = 1; key.mr <= High; key.mr++)
        for (key.nr = 16; key.nr <= Wide; key.nr += 16) {
            const int64_t k = some[(key.mr + key.nr / 16) % 3];
            fill_both(key, k, NumbersAny, NumbersAny);
            for (int i = 0; i < n_labs; i++)
                if (!lab[i].object)
                    run_tile(&lab[i], key, (key.mr + key.nr / 16) % (Full + 1),
                             turn[key.mr % 3], k);
        }
}

static void each_pair(void (*run)(TileKey))
{
    for (int d = DtypeInt8; d <= DtypeInt4g64; d++)
        for (int a = ArithmeticF32; a <= ArithmeticInt15; a++)
            run((TileKey){ .dtype = (Dtype)d, .arithmetic = (Arithmetic)a });
    for (int a = ArithmeticF32; a <= ArithmeticInt15; a++)
        run((TileKey){
            .dtype = DtypeInt8, .arithmetic = (Arithmetic)a, .wide = true });
}

static void test_prebuilt(void **state)
{
    (void)state;
    each_pair(run_prebuilt);
}

/* ---- look-up ---- */

static void look_up(const Lab *l, Dtype d, int64_t k)
{
    typedef void LookUp(float *, const uint8_t *, int64_t, int64_t, float,
                        const float *);
    LookUp *f = (LookUp *)lab_function(l,
                                       arena_printf(lab_arena, "embed_row_%s",
                                                    dtype_word[d]));
    const float *position = floats;
    for (int64_t n = 0; n < Wide; n++) {
        const uint8_t *panel = panels + n / 16 * panel_bytes(d, k);
        lab_guard(c, 2 * MostK + 2);
        f(c, panel, n % 16, k, 1.7f, position);
        f(c + MostK + 1, panel, n % 16, k, 1.7f, NULL);
        for (int64_t i = 0; i < k; i++) {
            const float w = (float)weight[n][i] * scale[n];
            assert_true(c[MostK + 1 + i] == 1.7f * w);
            if (l->target.fma)
                assert_true(c[i] == fmaf(1.7f, w, position[i]));
        }
        assert_true(is_canary(c[k]) && is_canary(c[MostK + 1 + k]));
    }
}

static void test_look_up(void **state)
{
    (void)state;
    for (int d = DtypeInt8; d <= DtypeInt4g64; d++)
        for (int at = 0; at < Depths; at++) {
            fill_panels((Dtype)d, depths[at], NumbersAny);
            fill_rows(ArithmeticF32, depths[at], NumbersAny);
            for (int i = 0; i < n_labs; i++)
                look_up(&lab[i], (Dtype)d, depths[at]);
        }
}

/* ---- unpacked ---- */

/* Tests int4 unpacked to int8; numbers from k on are arbitrary. */
static void unpack(const Lab *l, Dtype d, int64_t k)
{
    typedef void Unpack(int8_t *, const uint8_t *, int64_t);
    static _Alignas(64) int8_t copy[PanelBytes + 1];
    const int64_t stored = stored_of(k);
    Unpack *f = (Unpack *)lab_function(l, arena_printf(lab_arena, "unpack_%s",
                                                       dtype_word[d]));
    for (int64_t p = 0; p < Wide / 16; p++) {
        const uint8_t *panel = panels + p * panel_bytes(d, k);
        copy[16 * stored + 128] = 77;
        f(copy, panel, k);
        for (int64_t i = 0; i < stored; i++)
            for (int64_t n = 0; n < 16; n++)
                assert_int_equal(copy[i / 4 * 64 + n * 4 + i % 4],
                                 weight[p * 16 + n][i]);
        assert_memory_equal(copy + 16 * stored, panel + panel_bytes(d, k) - 128,
                            128);
        assert_int_equal(copy[16 * stored + 128], 77);
    }
}

static void test_unpack(void **state)
{
    (void)state;
    for (int d = DtypeInt4; d <= DtypeInt4g64; d++)
        for (int at = 0; at < Depths; at++) {
            fill_panels((Dtype)d, depths[at], (Fullness)(at % Numbers));
            for (int i = 0; i < n_labs; i++)
                unpack(&lab[i], (Dtype)d, depths[at]);
        }
}

/* Tests widening to 16 bits, with the panels of the tests above. */
static void widen(const Lab *l, Dtype d, Arithmetic a, int64_t k)
{
    typedef void Panel(void *, const uint8_t *, int64_t);
    typedef void Rows(uint8_t *, int64_t, const uint8_t *, int64_t, int64_t,
                      int64_t);
    static _Alignas(64) uint8_t panel[WidePanel + 1], rows[High * WideRow];
    const int64_t all = wide_panel_bytes(k);
    const int64_t n = stored_of(k) * (a == ArithmeticInt15 ? 2 : 1);
    Panel *f = (Panel *)lab_function(l, wide_kernels[d - DtypeInt8]);
    for (int64_t p = 0; p < Wide / 16; p++) {
        panel[all] = 77;
        f(panel, panels + p * panel_bytes(d, k), k);
        assert_memory_equal(panel, wide_panels + p * all, (size_t)all);
        assert_int_equal(panel[all], 77);
    }
    memset(rows, 77, sizeof rows);
    ((Rows *)lab_function(l, "widen_rows"))(rows, WideRow, bytes, RowBytes,
                                            High, n);
    for (int64_t r = 0; r < High; r++) {
        assert_memory_equal(rows + r * WideRow, wide_bytes + r * WideRow,
                            (size_t)(2 * n + 4));
        assert_int_equal(rows[r * WideRow + 2 * n + 4], 77);
    }
}

static void test_widen(void **state)
{
    (void)state;
    int widened = 0;
    if (!lab_can_run("x86-64-v2"))
        SKIP("not an x86-64 processor");
    for (int at = 0; at < Depths; at++)
        for (int way = 0; way < 6; way++) {
            const TileKey key = { .dtype = (Dtype)(DtypeInt8 + way % 3),
                                  .arithmetic = way / 3 ? ArithmeticInt15
                                                        : ArithmeticInt8,
                                  .wide = true };
            fill_both(key, depths[at], (Fullness)(at % Numbers), NumbersAny);
            for (int i = 0; i < n_labs; i++)
                if (target_widens(&lab[i].target)) {
                    widen(&lab[i], key.dtype, key.arithmetic, depths[at]);
                    widened++;
                }
        }
    assert_true(widened > 0);
}

/* Tests copies in f32. */
static void test_floats(void **state)
{
    (void)state;
    typedef void Panel(void *, const uint8_t *, int64_t);
    static _Alignas(64) uint8_t panel[FloatPanel + 1];
    for (int at = 0; at < 3 * Depths; at++) {
        const Dtype d = (Dtype)(DtypeInt8 + at % 3);
        const int64_t k = depths[at / 3], all = 64 * k + 64;
        fill_panels(d, k, (Fullness)(at / 3 % Numbers));
        float_panels_of(d, k);
        for (int i = 0; i < n_labs; i++) {
            if (lab[i].target.width == 1)
                continue;
            panel[all] = 77;
            ((Panel *)lab_function(&lab[i], float_kernels[at % 3]))(panel,
                                                                    panels, k);
            assert_memory_equal(panel, float_panels, (size_t)all);
            assert_int_equal(panel[all], 77);
        }
    }
}

static int n_tiles;

static void add_forms(TileKey pair)
{
    for (int i = 0; i < Forms; i++) {
        tiles[n_tiles] = forms[i];
        tiles[n_tiles].dtype = pair.dtype;
        tiles[n_tiles].wide = pair.wide;
        tiles[n_tiles++].arithmetic = pair.arithmetic;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_emitted), cmocka_unit_test(test_prebuilt),
        cmocka_unit_test(test_look_up), cmocka_unit_test(test_unpack),
        cmocka_unit_test(test_widen),   cmocka_unit_test(test_floats),
    };
    lab_fill(bias, C, FillUniform);
    lab_fill(residual, High * C, FillUniform);
    each_pair(add_forms);
    lab_way = ways;
    lab_wide = wide_kernels;
    lab_vector = float_kernels;
    lab_of.kernels = kernels;
    lab_of.tiles = tiles;
    lab_of.n_tiles = n_tiles;
    return cmocka_run_group_tests(tests, open_labs, close_labs);
}
