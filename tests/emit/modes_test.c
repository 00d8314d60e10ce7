/* modes_test.c: what makes an answer faster never changes it. For six models
 * and random prompts mode_calls.c compares all modes of an answer: with drafts,
 * in a batch, with prefixes that were read before, restored.
 *
 * ATTNC_PROMPTS is the number of prompts, for example
 *     ATTNC_PROMPTS=10000 make test ONLY=emit/modes_test */
/* limit: 7200 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

enum { Most = 2000 }; /* prompts of a program, which has a limit of time */

/* Runs mode_calls.c with a model. */
static void check(const char *spec, const char *set, const char *more)
{
    const char *given = getenv("ATTNC_PROMPTS");
    const int64_t prompts = given ? strtoll(given, NULL, 10) : 36;
    Spawned s;
    assert_true(WORKS(attnc(), "compile", spec, "--march=x86-64-v3", set, more,
                      "--set=name=m", "--seed=1", "--embed", "-o",
                      in_dir("m.c")));
    assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                      "-Wall", "-Wextra", "-Werror", "-I", dir,
                      "tests/support/mode_calls.c", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    for (int64_t i = 0; i < prompts; i += Most) {
        const char *n = arena_printf(a, "%lld",
                                     (long long)attn_min(prompts - i, Most));
        const char *seed = arena_printf(a, "%lld", (long long)i + 1);
        if (RUN(&s, "", in_dir("m"), n, seed) != 0)
            fail_msg("prompts from %s: %s%s", seed, s.out, s.tail);
    }
}

/* A decoder of two layers; a layer has these fields too. */
#define DECODER(layer)                                                        \
    "attnc: 1\nname: m\nkind: decoder\nd_model: 32\nh: 4\nh_kv: 2\n"           \
    "d_ff: 48\nN: 2\nmax_len: 200\n"                                          \
    "vocab: {size: 40, tokens: {start: 1, end: 2}}\n"                          \
    "positions: {type: rotary, base: 10000}\n" layer

static void check_decoder(const char *text)
{
    Fault why;
    assert_true(write_file(in_dir("m.yaml"), text, strlen(text), &why));
    check(in_dir("m.yaml"), "--quiet", "--quiet");
}

static void test_translates(void **state)
{
    (void)state;
    check(g2p, "--quiet", "--quiet");
}

static void test_translates_integers(void **state)
{
    (void)state;
    check(g2p, "--set=dtype=int8", "--set=arithmetic=int8");
}

static void test_decoder(void **state)
{
    (void)state;
    check_decoder(DECODER("masking: causal\n"));
}

static void test_short_cache(void **state)
{
    (void)state;
    check_decoder(DECODER("masking: causal\ncache: bf16\n"
                          "dtype: int4\narithmetic: int8\n"));
}

static void test_window(void **state)
{
    (void)state;
    check_decoder(DECODER("masking: [causal, {window: 70}]\n"));
}

static void test_experts(void **state)
{
    (void)state;
    check_decoder(DECODER("masking: causal\ncache: int8\n"
                          "ffn: {type: experts, experts: 6, chosen: 2}\n"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_translates), TEST(test_translates_integers),
        TEST(test_decoder),    TEST(test_short_cache),
        TEST(test_window),     TEST(test_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
