/* hash_test.c: tests that the hash pasted into emitted files equals
 * libxxhash's, for any length, seed and address. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "runtime/core.h"

static const uint64_t seeds[] = { 0,         1,         2, 0x9e3779b185ebca87u,
                                  INT64_MAX, UINT64_MAX };
enum { Seeds = sizeof seeds / sizeof *seeds, Room = 1 << 20 };
static unsigned char room[Room];

static int fill(void **unused)
{
    uint64_t x = 1;
    (void)unused;
    for (int i = 0; i < Room; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        room[i] = (unsigned char)(x >> 56);
    }
    return 0;
}

static void assert_hash(const void *at, size_t n, uint64_t seed)
{
    if (attn_hash(at, (int64_t)n, seed) != XXH64(at, n, seed))
        fail_msg("%zu bytes, seed %llx", n, (unsigned long long)seed);
}

static void test_lengths(void **unused)
{
    (void)unused;
    for (size_t n = 0; n < 1100; n++)
        for (int s = 0; s < Seeds; s++)
            assert_hash(room + n, n, seeds[s]);
    for (size_t n = 4000; n < Room; n = n * 3 / 2)
        for (int s = 0; s < Seeds; s++)
            assert_hash(room, n, seeds[s]);
}

/* Hashes a copy of exactly this size, so that ASan detects reads beyond it. */
static void test_addresses(void **unused)
{
    (void)unused;
    for (size_t shift = 0; shift < 64; shift++)
        for (size_t n = 0; n < 130; n++) {
            unsigned char *at = malloc(shift + n + (shift + n == 0));
            memcpy(at, room, shift + n);
            assert_hash(at + shift, n, shift * n);
            free(at);
        }
}

/* Tests xxHash's published values, without the library. */
static void test_known(void **unused)
{
    (void)unused;
    assert_true(attn_hash("", 0, 0) == 0xef46db3751d8e999u);
    assert_true(attn_hash("a", 1, 0) == 0xd24ec4f1a98c6e5bu);
    assert_true(attn_hash("abc", 3, 0) == 0x44bc2cf5ad770999u);
}

/* Tests that a change of any bit changes the hash. */
static void test_bits(void **unused)
{
    (void)unused;
    for (size_t n = 1; n < 200; n++) {
        const uint64_t was = attn_hash(room, (int64_t)n, 0);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            room[bit / 8] = (unsigned char)(room[bit / 8] ^ 1u << bit % 8);
            assert_true(attn_hash(room, (int64_t)n, 0) != was);
            room[bit / 8] = (unsigned char)(room[bit / 8] ^ 1u << bit % 8);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, fill, NULL);
}
