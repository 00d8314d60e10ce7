/* gguf_blocks_test.c: tests that quantised blocks become the floats that ggml
 * computes, to the last bit, on each machine's loops and for any part of a
 * block. tests/families/gguf_blocks.py wrote the files.
 *
 * gguf_blocks_test LIBRARY [N]: compares N random blocks of each type (default:
 * a million) with libggml-base.so.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/weights/weight_loops.h"

typedef struct {
    const char *name;
    StType type;
    int elements, bytes;
} Row;
#define ROW(number, name, elements, bytes, floats)                            \
    { #name, St##name, elements, bytes },
static const Row rows[] = { BLOCK_TYPES(ROW) };
enum { Rows = sizeof rows / sizeof *rows, Most = 1536 };

/* Checks all elements, and parts that begin and end inside of blocks. */
static void compare(const Loops *l, const Row *r, const unsigned char *blocks,
                    const float *want, int n)
{
    float x[Most];
    for (int skip = 0; skip < n; skip += 1 + skip * 2) {
        const int some = n - skip - skip / 3;
        l->floats(r->type, blocks, skip, some, x);
        for (int i = 0; i < some; i++)
            if (memcmp(&x[i], &want[skip + i], sizeof *x) != 0)
                fail_msg("%s: element %d is %a, not %a", r->name, skip + i,
                         (double)x[i], (double)want[skip + i]);
    }
}

static void equals_ggml(void **state)
{
    (void)state;
    for (int i = 0; i < Rows; i++) {
        const Row *r = &rows[i];
        unsigned char file[6 * Most], *floats;
        float want[Most];
        char path[64];
        snprintf(path, sizeof path, "tests/families/gguf/blocks/%s.bin",
                 r->name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        const size_t size = fread(file, 1, sizeof file, f);
        fclose(f);
        floats = file + Most / r->elements * r->bytes;
        assert_int_equal(size, floats - file + 4 * Most);
        for (int k = 0; k < Most; k++, floats += 4) {
            const uint32_t v = floats[0] | (uint32_t)floats[1] << 8
                             | (uint32_t)floats[2] << 16
                             | (uint32_t)floats[3] << 24;
            memcpy(&want[k], &v, sizeof v);
        }
        for (int vectors = 0; loops_of(vectors); vectors++)
            compare(loops_of(vectors), r, file, want, Most);
    }
}

/* ---- by hand ---- */
typedef void Dequantize(const void *blocks, float *out, int64_t n);

static Dequantize *ggml_function(void *library, const char *type)
{
    char name[64] = "dequantize_row_";
    Dequantize *to = NULL;
    for (size_t n = strlen(name); *type; type++, n++)
        name[n] = *type == 'K' ? 'K' : (char)tolower((unsigned char)*type);
    void *found = dlsym(library, name);
    memcpy(&to, &found, sizeof to);
    return to;
}

/* Compares a block; two NaNs are equal. Returns the number of other bits. */
static int bits_that_differ(const float *x, const float *y, int n)
{
    int bits = 0;
    for (int i = 0; i < n; i++) {
        uint32_t v, w;
        memcpy(&v, &x[i], sizeof v);
        memcpy(&w, &y[i], sizeof w);
        bits += isnan(x[i]) && isnan(y[i]) ? 0 : __builtin_popcount(v ^ w);
    }
    return bits;
}

static long compare_random(const Row *r, Dequantize *ggml, long n)
{
    unsigned char block[BlockMost];
    float x[BlockMost], y[BlockMost];
    uint64_t dice = 1;
    long bits = 0, finite = 0;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < r->bytes; k++) {
            dice = dice * 6364136223846793005u + 1442695040888963407u;
            block[k] = (unsigned char)(dice >> 56);
        }
        loops()->floats(r->type, block, 0, r->elements, x);
        ggml(block, y, r->elements);
        bits += bits_that_differ(x, y, r->elements);
        finite += loops()->not_finite(y, r->elements) == 0;
    }
    printf("%-6s %ld blocks, %ld with finite numbers only: %ld bits differ\n",
           r->name, n, finite, bits);
    return bits;
}

static int compare_library(const char *path, long n)
{
    void *library = dlopen(path, RTLD_NOW);
    long bits = 0;
    for (int i = 0; library && i < Rows; i++) {
        Dequantize *ggml = ggml_function(library, rows[i].name);
        bits += ggml ? compare_random(&rows[i], ggml, n) : 1;
    }
    return !library || bits;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(equals_ggml) };
    if (argc > 1)
        return compare_library(argv[1], argc > 2 ? atol(argv[2]) : 1000000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
