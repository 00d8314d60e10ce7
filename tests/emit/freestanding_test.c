/* freestanding_test.c: tests attnc compile --freestanding: the files use only
 * nine functions of the C library, for memory, strings and math; the header's
 * macros equal what its functions return; a program in static memory answers as
 * attnc run does; and the program in the header's first comment works as
 * printed. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static const char warnings[] = "-Wall -Wextra -Wpedantic -Werror";

typedef struct {
    const char *spec, *options, *seed;
    const char *body; /* body of main(), after bind */
} Form;

static const char *output_of(const char *command)
{
    Spawned s;
    const char *line = arena_printf(a, "cd %s && %s", dir, command);
    if (RUN(&s, "", "/bin/sh", "-c", line) != 0)
        fail_msg("%s: %s%s", command, s.out, s.tail);
    return arena_strdup(a, s.out);
}

static void write_text(const char *name, const char *text)
{
    Fault why;
    assert_true(write_file(in_dir(name), text, strlen(text), &why));
}

/* ---- what is linked ---- */

/* Compilers replace a memcmp() that is only compared with 0 by bcmp(). */
static void look_at_names(const char *list)
{
    static const char *const allowed[] = { "memchr",  "memcmp", "memcpy",
                                           "memmove", "memset", "strlen",
                                           "strncmp", "sqrtf",  "fmaf",
                                           "bcmp" };
    char name[128];
    int n = 0, used, seen = 0;
    for (; sscanf(list, " U %127s%n", name, &used) == 1; list += used, n++) {
        bool known = false;
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            known |= !strcmp(name, allowed[i]);
        if (!known)
            fail_msg("it asks for %s", name);
        seen += !strcmp(name, "memcpy") || !strcmp(name, "memset");
    }
    assert_true(n > 1 && seen > 0); /* the list was read */
}

/* ---- what is computed ---- */

static const char front[] =
    "#include <stdio.h>\n"
    "#include \"m.h\"\n"
    "static const int32_t ids[] = { 3, 4, 5 }, start[] = { 0, 3 };\n"
    "static _Alignas(64) char bound[M_BOUND_BYTES];\n"
    "static int64_t differ(const char *what, int64_t macro, int64_t n)\n"
    "{\n"
    "    if (macro != n)\n"
    "        printf(\"%s: %lld, not %lld\\n\", what, (long long)macro,\n"
    "               (long long)n);\n"
    "    return macro != n;\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "    struct attn_batch b = { .sequences = 1, .rows = M_MAX_INPUT };\n"
    "    int64_t bytes;\n"
    "    const void *file = m_embedded(&bytes);\n"
    "    if (differ(\"arena\", M_ARENA_BYTES, m_batch_bytes(&b)))\n"
    "        return 1;\n"
    "    if (differ(\"bound\", M_BOUND_BYTES, m_model()->bound_bytes))\n"
    "        return 1;\n"
    "    if (m_bind(bound, file, bytes))\n"
    "        return 2;\n";

static const char encodes[] =
    "    static _Alignas(64) char arena[M_ARENA_BYTES];\n"
    "    static float out[M_OUTPUT];\n"
    "    b.rows = 3;\n"
    "    b.ids = ids;\n"
    "    b.start = start;\n"
    "    b.output = out;\n"
    "    if (m_encode_batch(bound, &b, arena, sizeof arena))\n"
    "        return 3;\n"
    "    for (int i = 0; i < M_OUTPUT; i++)\n"
    "        printf(\"%s%.9g\", i ? \" \" : \"\", out[i]);\n"
    "    puts(\"\\n\"); /* an empty line ends a matrix */\n"
    "    return 0;\n"
    "}\n";

/* SOURCE: what a stream's source has. */
static const char searches[] =
    "    static _Alignas(64) char memory[M_SEARCH_BYTES];\n"
    "    static _Alignas(64) char stream[M_STREAM_BYTES];\n"
    "    struct attn_search_options o;\n"
    "    struct attn_hypothesis x;\n"
    "    struct attn_stream s;\n"
    "    int64_t found;\n"
    "    m_options(&o);\n"
    "    if (differ(\"output\", M_MAX_OUTPUT, o.max_output)\n"
    "        || differ(\"search\", M_SEARCH_BYTES,\n"
    "                  m_search_bytes(&o, 1, M_MAX_INPUT, M_MAX_INPUT))\n"
    "        || differ(\"stream\", M_STREAM_BYTES,\n"
    "                  m_stream_bytes(&o, SOURCE, M_STREAM_TOKENS, 1)))\n"
    "        return 1;\n"
    "    if (m_search(bound, &o, 1, ids, start, memory, sizeof memory, &x,\n"
    "                 &found)\n"
    "        || found != 1)\n"
    "        return 3;\n"
    "    for (int i = 0; i < x.n; i++)\n"
    "        printf(\"%s%d\", i ? \" \" : \"\", (int)x.tokens[i]);\n"
    "    puts(\"\");\n"
    "    o.beam = 1; /* as a stream chooses */\n"
    "    if (m_search(bound, &o, 1, ids, start, memory, sizeof memory, &x,\n"
    "                 &found))\n"
    "        return 3;\n"
    "    if (m_stream_open(&s, bound, &o, ids, 3, M_STREAM_TOKENS, 1, stream,\n"
    "                      sizeof stream))\n"
    "        return 4;\n"
    "    return m_stream_next(&s) != (x.n ? x.tokens[0] : ATTN_STREAM_END);\n"
    "}\n";

/* Returns the program in the header's first comment. */
static const char *example_of(const char *header)
{
    size_t n;
    const char *at = strstr(text_of(header, &n), " *     // "), *code = "";
    assert_non_null(at);
    for (; strncmp(at, " * Compile it ", 14); at = strchr(at, '\n') + 1) {
        const int size = (int)strcspn(at, "\n"), skipped = size < 7 ? size : 7;
        code = arena_printf(a, "%s%.*s\n", code, size - skipped, at + skipped);
    }
    return code;
}

static void check_compiler(const char *cc, const char *cxx,
                           const char *expected)
{
    output_of(
        arena_printf(a, "%s -O1 -std=c11 %s -c m.c -o m.o", cc, warnings));
    look_at_names(output_of("nm -u m.o"));
    output_of(arena_printf(a, "%s -std=c11 %s x.c m.o -lm -o x", cc, warnings));
    assert_string_equal(output_of("./x"), expected);
    output_of(arena_printf(a, "%s -std=c11 %s y.c m.o -lm -o y && ./y", cc,
                           warnings));
    output_of(arena_printf(a,
                           "%s -x c++ -std=c++17 %s y.c -x none m.o -lm -o y "
                           "&& ./y",
                           cxx, warnings));
}

static void check(const Form *f)
{
    Spawned s;
    assert_true(WORKS("/bin/sh", "-c",
                      arena_printf(a,
                                   "%s compile %s --set=name=m --freestanding "
                                   "--embed --march=generic --quiet %s %s "
                                   "-o %s",
                                   attnc(), f->spec, f->seed, f->options,
                                   in_dir("m.c"))));
    assert_int_equal(RUN(&s, "3 4 5\n", "/bin/sh", "-c",
                         arena_printf(a,
                                      "%s run %s --ids --march=generic %s "
                                      "2>/dev/null",
                                      attnc(), f->spec, f->seed)),
                     0);
    assert_string_not_equal(s.out, "");
    const char *expected = arena_strdup(a, s.out);
    write_text("x.c", arena_printf(a, "%s%s", front, f->body));
    write_text("y.c", example_of(in_dir("m.h")));
    check_compiler(some_clang(), some_clang(), expected);
    check_compiler("gcc", "g++", expected);
}

static void test_encoder_decoder(void **state)
{
    (void)state;
    const char *body = arena_printf(a, "#define SOURCE M_MAX_INPUT\n%s",
                                    searches);
    check(&(Form){ "models/tiny.yaml", "", "--seed=1", body });
    check(&(Form){ "models/tiny.yaml", "--max-input=5", "--seed=1", body });
}

static void test_decoder(void **state)
{
    (void)state;
    const char *body = arena_printf(a, "#define SOURCE 0\n%s", searches);
    check(&(Form){ "tests/torch/softcap.yaml", "", "", body });
    check(&(Form){ "tests/torch/softcap.yaml", "--max-input=3", "", body });
}

static void test_encoder(void **state)
{
    (void)state;
    check(&(Form){ "tests/torch/pool_mean.yaml", "", "", encodes });
    check(
        &(Form){ "tests/torch/pool_mean.yaml", "--max-input=3", "", encodes });
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_encoder_decoder),
        TEST(test_decoder),
        TEST(test_encoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
