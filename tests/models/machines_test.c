/* machines_test.c: tests that another architecture gives the same bits. Models
 * of each kind, in all formats of weights and arithmetics, and random ones, are
 * emitted for this machine and for the other one. Cross compilers build
 * programs, which an emulator runs; bit_calls.c prints all their results.
 *
 *     machines_test [COUNT [FIRST]]                         random specs */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/random_spec.h"
#include "support/cross.h"
#include "support/aot.h"
#include "support/skip.h"

static long count = 4, first = 8;
static Cross there;

typedef struct {
    const char *spec;
    int kind; /* ATTN_ENCODER etc. */
    const char *sets[6];
} Form;

/* m.c, its weights inside. */
static void emit_for(const Form *f, const char *target)
{
    const char *words[32] = { attnc(),        "compile",        f->spec,
                              "--march",      target,           "--seed=1",
                              "--embed",      "--freestanding", "--no-records",
                              "--set=name=m", "--quiet",        "-o",
                              in_dir("m.c") };
    int n = 13;
    for (int i = 0; f->sets[i]; i++)
        words[n++] = arena_printf(a, "--set=%s", f->sets[i]);
    assert_true(works(words));
}

/* Builds the program without warnings, by a compiler with two further options.
 */
static void build(const Form *f, const char *const *cc, const char *march,
                  const char *program)
{
    assert_true(WORKS(cc[0], cc[1], cc[2], "-std=c11", "-O1", "-Wall",
                      "-Wextra", "-Werror", arena_printf(a, "-march=%s", march),
                      arena_printf(a, "-DKIND=%d", f->kind), "-I", dir,
                      "tests/support/bit_calls.c", in_dir("m.c"), "-lm", "-o",
                      in_dir(program)));
}

/* Writes all bits to the file PROGRAM.bits. */
static void run_program(const char *emulator, const char *program)
{
    Spawned s;
    const char *line = arena_printf(a, "%s %s > %s.bits", emulator,
                                    in_dir(program), in_dir(program));
    if (RUN(&s, "", "/bin/sh", "-c", line) != 0)
        fail_msg("%s: %s", line, s.tail);
}

static void check_there(const Form *f, const char *name, bool by_gcc)
{
    const char *const clang[] = { there.clang, "--target=" TRIPLE, "-static" };
    const char *const gcc[] = { there.gcc, "-static", "-DX" };
    Target t;
    Fault why;
    assert_true(target_find(&t, name, 0, NULL, &why));
    emit_for(f, name);
    build(f, (by_gcc && there.gcc) || !there.clang ? gcc : clang, t.march,
          "there");
    run_program(there.emulator, "there");
    same_file(in_dir("here.bits"), in_dir("there.bits"));
}

/* Tests both compilers in turn, also with the machine's instructions for
 * integers. */
static void check(const Form *f, int turn)
{
    const char *const here[] = { some_clang(), QUIET };
    const bool integers = f->sets[0] && strstr(f->sets[0], "dtype=int");
    emit_for(f, "native");
    build(f, here, "native", "here");
    run_program("", "here");
    for (int i = 0; cross_targets[i]; i++)
        if (integers || i == 0)
            check_there(f, cross_targets[i], (turn + i) % 2);
}

static void find_there(void)
{
    const char *missing = cross_find(a, &there);
    if (missing)
        SKIP("%s is here", missing);
}

static const char tiny[] = "models/tiny.yaml";

static void test_formats(void **state)
{
    (void)state;
    static const Form forms[] = {
        { tiny, ATTN_ENCODER_DECODER, { "max_len=80" } },
        { tiny, ATTN_DECODER, { "dtype=bf16", "kind=decoder" } },
        { tiny, ATTN_ENCODER_DECODER, { "dtype=int8", "max_len=80" } },
        { tiny, ATTN_DECODER, { "dtype=int4", "kind=decoder" } },
        { tiny,
          ATTN_ENCODER,
          { "dtype=int4g64", "kind=encoder", "arithmetic=int8" } },
        { tiny,
          ATTN_ENCODER,
          { "dtype=int8", "kind=encoder", "arithmetic=int8" } },
        { tiny,
          ATTN_DECODER,
          { "dtype=int4", "kind=decoder", "arithmetic=int8", "max_len=80" } },
        { tiny,
          ATTN_DECODER,
          { "dtype=int8", "kind=decoder", "arithmetic=int15" } },
        { tiny,
          ATTN_ENCODER,
          { "dtype=int4", "kind=encoder", "arithmetic=int15", "max_len=80" } },
        { "models/attention.yaml", ATTN_ATTENTION, { "d_model=48", "h=3" } },
    };
    find_there();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        check(&forms[i], (int)i);
}

static void test_random(void **state)
{
    (void)state;
    Fault why;
    find_there();
    for (long seed = first; seed < first + count; seed++) {
        const char *text = random_spec(a, (uint64_t)seed);
        const char *path = in_dir("random.yaml");
        const Form f = { path,
                         (int)random_begin(a, (uint64_t)seed, "").kind,
                         { NULL } };
        assert_true(write_file(path, text, strlen(text), &why));
        check(&f, (int)seed);
    }
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_formats),
        TEST(test_random),
    };
    if (argc > 1)
        count = atol(argv[1]);
    if (argc > 2)
        first = atol(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
