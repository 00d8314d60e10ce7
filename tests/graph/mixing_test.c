/* mixing_test.c: tests the paper's Table 1 of a layer against values computed
 * by hand for n 128, d 512, k 3, r 16. */
#define _POSIX_C_SOURCE 200809L
#include "graph/graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/load_spec.h"

static void expect(const char *set, int64_t rows, Mixing want)
{
    Arena *a = arena_new();
    char *text;
    Spec *s = load(a, "models/transformer-base.yaml", set, &text);
    if (!s)
        fail_msg("%s: %s", set ? set : "", text);
    const Mixing got = layer_mixing(build_graph(a, s), rows);
    assert_string_equal(got.complexity, want.complexity);
    assert_int_equal(got.operations, want.operations);
    assert_int_equal(got.sequential, want.sequential);
    assert_int_equal(got.path, want.path);
    arena_free(a);
}

static void test_attention(void **state)
{
    (void)state;
    expect(NULL, 128, (Mixing){ "n^2 d", 8388608, 1, 1, 0 });
    expect("masking.encoder={window: 16}", 128,
           (Mixing){ "r n d", 1048576, 1, 8, 0 });
    /* a window that hides nothing */
    expect("masking.encoder={window: 200}", 128,
           (Mixing){ "r n d", 8388608, 1, 1, 0 });
}

static void test_recurrent(void **state)
{
    (void)state;
    expect("kind=encoder,layers.mix=recurrent", 128,
           (Mixing){ "n d^2", 33554432, 128, 128, 0 });
}

static void test_convolution(void **state)
{
    (void)state;
    expect("kind=encoder,layers.mix=convolution", 128,
           (Mixing){ "k n d^2", 100663296, 1, 43, 0 });
    expect("kind=encoder,layers={mix: {type: convolution, dilation: 3}}", 128,
           (Mixing){ "k n d^2", 100663296, 1, 5, 0 });
    /* 3 layers reach 27 rows */
    expect("kind=encoder,layers={mix: {type: convolution, dilation: 3}}", 27,
           (Mixing){ "k n d^2", 21233664, 1, 3, 0 });
    expect("kind=encoder,layers={mix: {type: convolution, depthwise: true, "
           "pointwise: true}}",
           128, (Mixing){ "k n d + n d^2", 33751040, 1, 43, 0 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_recurrent),
        cmocka_unit_test(test_convolution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
