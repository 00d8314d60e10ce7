/* plain_test.c: tests that plain C of random specs gives the bits of the fast
 * C, for every row of every sequence, in memory full of NaN, and that any C99
 * compiler compiles it without a warning.
 *
 *     plain_test [COUNT [FIRST]]
 *
 * COUNT specs of the paper's form and as many of any form. Without it,
 * ATTNC_SPECS is COUNT; ATTNC_FULL runs many. The processors share the specs.
 * main() is compiled too. Compilers take turns; ATTNC_CC names the one to
 * use. */
/* limit: 900 s */
#define _GNU_SOURCE /* mkdtemp */
#include "oracle/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "support/form_files.h"
#include "support/scratch.h"

#include "support/plain_program.h"

static long count = 16, first = 1;

static void run_case(uint64_t seed, bool form)
{
    Arena *a = arena_new();
    const char *text = form ? random_form(a, seed).r.text
                            : random_spec(a, seed);
    const char *path = form ? write_form(a, scratch, seed)
                            : scratch_file("paper.yaml", text, strlen(text));
    plain_same_bits(a, text, (EngineOptions){ .spec = path, .seed = seed });
    arena_free(a);
}

static void run_share(long from, long of)
{
    for (long i = from; i < count; i += of) {
        run_case((uint64_t)(first + i), false);
        run_case((uint64_t)(first + i), true);
    }
}

/* Tests layers that keep different numbers for the next row; each width has its
 * own array in the state. */
static void test_states_of_two_widths(void **state)
{
    static const char *const layers[] = {
        "{mix: {type: recurrent, cell: lstm}}, "
        "{mix: {type: recurrent, cell: gru}}, "
        "{mix: {type: recurrent, cell: lstm, width: 5}}",
        "{mix: {type: convolution, kernel: 5}}, "
        "{mix: {type: convolution, kernel: 2}}, "
        "{mix: {type: convolution, kernel: 5, dilation: 2}}",
        "{mix: {type: convolution, kernel: 4, depthwise: true}}, "
        "{mix: {type: recurrent, cell: gru}}, "
        "{mix: {type: convolution, kernel: 3, depthwise: true}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        Arena *a = arena_new();
        const char *text = arena_printf(
            a,
            "attnc: 1\nname: widths\nkind: decoder\nd_model: 12\nh: 2\nN: 3\n"
            "d_ff: 7\nmax_len: 70\nvocab: {size: 9}\npositions: none\n"
            "layers: [%s]\n",
            layers[i]);
        plain_same_bits(a, text,
                        (EngineOptions){ .spec = scratch_file("widths.yaml",
                                                              text,
                                                              strlen(text)),
                                         .seed = i });
        arena_free(a);
    }
}

static void test_random_specs(void **state)
{
    (void)state;
    assert_true(count > 0);
    by_processors(run_share);
}

int main(int argc, char **argv)
{
    if (getenv("ATTNC_FULL"))
        count = 400;
    else if (getenv("ATTNC_SPECS"))
        count = strtol(getenv("ATTNC_SPECS"), NULL, 10);
    if (argc > 1)
        count = strtol(argv[1], NULL, 10);
    if (argc > 2)
        first = strtol(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_states_of_two_widths, scratch_make,
                                        scratch_remove),
        cmocka_unit_test_setup_teardown(test_random_specs, scratch_make,
                                        scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
