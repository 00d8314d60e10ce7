/* hostile_test.c: calls every exported function of an emitted file, for each
 * kind of model, with each argument wrong in turn, under AddressSanitizer and
 * UBSan: it returns the error that the header lists, and accesses nothing else.
 * hostile_calls.c makes the calls. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "emit/emit.h"
#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"

static const char *const sanitizers[] = { "-fsanitize=address,undefined",
                                          "-fno-sanitize-recover=all" };

/* Debian has clang's sanitizers in a separate package. */
static bool has_sanitizers(void)
{
    Spawned s;
    return RUN(&s, "int main(void) { return 0; }", some_clang(), "-x", "c",
               sanitizers[0], "-", "-o", in_dir("m"))
        == 0;
}

/* Counts the arguments of m_NAME in the header that can be wrong. */
static int arguments_of(const char *header, const char *name)
{
    static const char *const right[] = { "begun", "target", "error" };
    const char *word = arena_printf(a, "%s(", name);
    const char *at = strstr(header, word), *end;
    int n = 0;
    while (at && at[-1] != ' ' && at[-1] != '*')
        at = strstr(at + 1, word);
    assert_non_null(at);
    for (at += strlen(word); at[-1] != ')'; at = end + 1) {
        end = at + strcspn(at, ",)");
        const char *text = arena_strndup(a, at, (size_t)(end - at));
        bool any = strncmp(text + strspn(text, " \n"), "uint64_t", 8) == 0
                || !strcmp(text, "void");
        for (int i = 0; i < 3; i++)
            any |= strstr(text, right[i]) != NULL;
        n += !any;
    }
    return n;
}

/* Returns how many errors the calls of a function returned; -1: not called. */
static int errors_of(const char *out, const char *name)
{
    const char *at = strstr(out, arena_printf(a, "%s ", name));
    while (at && at > out && at[-1] != '\n')
        at = strstr(at + 1, arena_printf(a, "%s ", name));
    return at ? atoi(at + strlen(name)) : -1;
}

/* model, embedded and options have no arguments that can be wrong. */
static void assert_all_called(const char *spec, const char *const *sets,
                              int nsets, const char *out)
{
    Engine e;
    size_t size;
    int n = 0;
    const EngineOptions o = {
        .spec = spec, .sets = sets, .nsets = nsets, .march = "x86-64-v3"
    };
    const EmitOptions emitted = { .mode = EmitAot };
    assert_int_equal(engine_plan(&e, &o), ExitDone);
    const char *header = text_of(in_dir("m.h"), &size), *name;
    while ((name = emit_exported(a, e.plan, &emitted, n++))) {
        const int errors = errors_of(out, name + strlen("m_"));
        int wanted = arguments_of(header, name);
        if (n <= 2 || !strcmp(name, "m_options"))
            wanted = 0;
        if (errors < wanted)
            fail_msg("%s: %d of its calls were wrong, it has %d arguments",
                     name, errors, wanted);
    }
    engine_close(&e);
}

static void check(int kind, int text, const char *spec, const char *const *sets)
{
    Spawned s;
    int nsets = 0;
    const char *words[24] = { attnc(),        "compile",
                              spec,           "--march=x86-64-v3",
                              "--set=name=m", "-o",
                              in_dir("m.c") };
    int n = 7;
    const char *names[8] = { "name=m" };
    for (; sets[nsets]; nsets++)
        if (!strncmp(sets[nsets], "--", 2))
            words[n++] = sets[nsets];
    for (int i = 1; i <= nsets; i++)
        names[i] = sets[i - 1] + (strncmp(sets[i - 1], "--set=", 6) ? 0 : 6);
    while (nsets > 0
           && (!strcmp(sets[nsets - 1], "--embed")
               || !strcmp(sets[nsets - 1], "--seed=1")))
        nsets--;
    assert_true(works(words));
    const bool sanitized = has_sanitizers();
    assert_true(WORKS(
        some_clang(), "-std=c11", "-O0", "-march=x86-64-v3", "-Wall", "-Wextra",
        "-Werror", "-I", dir, "-I", "tests", arena_printf(a, "-DKIND=%d", kind),
        arena_printf(a, "-DTEXT=%d", text),
        arena_printf(a, "-DNUMBERS=%d", strstr(spec, "class_token") != NULL),
        sanitized ? sanitizers[0] : "-DX", sanitized ? sanitizers[1] : "-DX",
        "tests/support/hostile_calls.c", in_dir("m.c"), "-lm", "-o",
        in_dir("m")));
    if (RUN(&s, "", "env", "ASAN_OPTIONS=detect_leaks=0", in_dir("m")) != 0)
        fail_msg("%s: %s", spec, s.tail);
    assert_all_called(spec, names, nsets + 1, s.out);
}
#define CHECK(kind, text, spec, ...)                                          \
    check(kind, text, spec, (const char *const[]){ __VA_ARGS__, NULL })

static void test_encoder_decoder(void **state)
{
    (void)state;
    CHECK(ATTN_ENCODER_DECODER, 1, g2p, "--embed");
}

static void test_decoder(void **state)
{
    (void)state;
    CHECK(ATTN_DECODER, 0, "models/tiny.yaml", "--set=kind=decoder",
          "--set=masking=[causal, prefix]", "--set=embedding.types=3");
    CHECK(ATTN_DECODER, 0, "tests/torch/softcap.yaml", "--embed");
    CHECK(ATTN_DECODER, 2, "models/tiny.yaml", "--set=kind=decoder",
          "--set=vocab={file: models/g2p-en/letters.txt, size: 30, "
          "split: characters, "
          "tokens: {start: 1, end: 2, pad: 0}}",
          "--set=chat.user={prefix: a, suffix: b}", "--seed=1", "--embed");
}

static void test_encoder(void **state)
{
    (void)state;
    CHECK(ATTN_ENCODER, 0, "models/tiny.yaml", "--set=kind=encoder",
          "--set=embedding.types=3");
    CHECK(ATTN_ENCODER, 0, "tests/torch/class_token.yaml", "--embed");
    CHECK(ATTN_ENCODER, 0, "tests/torch/pool_mean.yaml", "--embed");
    CHECK(ATTN_ENCODER, 1, g2p, "--set=kind=encoder", "--embed");
    CHECK(ATTN_ENCODER, 1, "tests/cli/tasks.yaml", "--set=head.query.cut=false",
          "--seed=1", "--embed");
}

static void test_attention(void **state)
{
    (void)state;
    CHECK(ATTN_ATTENTION, 0, "models/attention.yaml", "--set=d_model=32",
          "--set=h=2");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_encoder_decoder),
        TEST(test_decoder),
        TEST(test_encoder),
        TEST(test_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
