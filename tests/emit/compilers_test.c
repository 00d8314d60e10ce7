/* compilers_test.c: compiles one model with several compilers, scalar and
 * vectorised: answers and scores are bit-identical; sanitizers find nothing;
 * weights may be embedded.
 *
 *     ATTNC_FULL=1: more words */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/skip.h"

/* Writes words that were not in the training data, one per line, to the file
 * "words". */
static void write_words(void)
{
    Spawned s;
    const char *line = arena_printf(a,
                                    "head -n %d models/g2p-en/heldout.txt |"
                                    " cut -f 1 > %s",
                                    full_depth() ? 50 : 8, in_dir("words"));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", line), 0);
}

/* Writes its answers to them to a file. */
static void answer_words(const char *program, const char *weights,
                         const char *answers)
{
    Spawned s;
    const char *line = arena_printf(a, "%s %s < %s > %s", program, weights,
                                    in_dir("words"), answers);
    if (RUN(&s, "", "/bin/sh", "-c", line) != 0)
        fail_msg("%s: %s", program, s.tail);
}

/* With a second argument it prints the four best answers to a few sources, with
 * the bits of their scores; otherwise it is the file's own program. */
static const char scores[] =
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include \"m.h\"\n"
    "static _Alignas(64) char file[8 << 20];\n"
    "int program(int argc, char **argv);\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "    const struct attn_model *m = g2p_en_model();\n"
    "    if (argc < 3)\n"
    "        return program(argc, argv);\n"
    "    FILE *f = fopen(argv[1], \"rb\");\n"
    "    int64_t bytes = (int64_t)fread(file, 1, sizeof file, f), found;\n"
    "    void *bound = malloc(m->bound_bytes);\n"
    "    struct attn_search_options o;\n"
    "    struct attn_hypothesis out[4];\n"
    "    if (g2p_en_bind(bound, file, bytes))\n"
    "        return 3;\n"
    "    g2p_en_options(&o);\n"
    "    o.results = 4;\n"
    "    for (int k = 0; k < 5; k++) {\n"
    "        int32_t ids[9], start[2] = { 0, 9 };\n"
    "        for (int i = 0; i < 8; i++)\n"
    "            ids[i] = 3 + (i * k + 7 * i + k) % 26;\n"
    "        ids[8] = 2;\n"
    "        bytes = g2p_en_search_bytes(&o, 1, 9, 9);\n"
    "        void *memory = malloc(bytes);\n"
    "        if (g2p_en_search(bound, &o, 1, ids, start, memory, bytes,\n"
    "                            out, &found))\n"
    "            return 1;\n"
    "        for (int i = 0; i < found; i++)\n"
    "            printf(\"%a %d\\n\", out[i].log_probability,\n"
    "                   (int)out[i].n);\n"
    "        free(memory);\n"
    "    }\n"
    "    return found != 4;\n"
    "}\n";

/* Builds m.c by one compiler; checks answers to words, and scores. */
static bool answers_by(const char *cc, const char *level, const char *march,
                       const char *name)
{
    const char *program = in_dir("m"), *object = in_dir("m.o");
    const char *weights = in_dir("m.weights");
    Spawned s;
    if (!WORKS(cc, level, march, "-DATTNC_MAIN", "-Dmain=program", "-c",
               in_dir("m.c"), "-o", object))
        return false;
    assert_true(
        WORKS(cc, level, march, in_dir("x.c"), object, "-lm", "-o", program));
    answer_words(program, weights, in_dir(arena_printf(a, "%s.words", name)));
    const char *line = arena_printf(a, "%s %s scores > %s.scores", program,
                                    weights, in_dir(name));
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", line), 0);
    return true;
}

static void same_answers(const char *name)
{
    same_file(in_dir("first.words"), in_dir(arena_printf(a, "%s.words", name)));
    same_file(in_dir("first.scores"),
              in_dir(arena_printf(a, "%s.scores", name)));
}

/* Tests that vector and scalar text, by clang, gcc and tcc, gives bit-identical
 * answers. */
static void test_compilers_agree(void **state)
{
    (void)state;
    Fault why;
    write_words();
    assert_true(write_file(in_dir("x.c"), scores, strlen(scores), &why));
    emit(g2p, "--march=x86-64-v3", "--width=8");
    assert_true(answers_by(some_clang(), "-O1", "-march=x86-64-v3", "first"));
    if (answers_by("gcc", "-O1", "-march=x86-64-v3", "gcc"))
        same_answers("gcc");
    emit(g2p, "--march=generic", "--width=1");
    assert_true(answers_by(some_clang(), "-O1", "-DX", "scalar"));
    same_answers("scalar");
    if (answers_by("tcc", "-O0", "-DX", "tcc"))
        same_answers("tcc");
}

/* Debian has clang's sanitizers in a separate package. */
static bool has_sanitizers(void)
{
    Spawned s;
    return RUN(&s, "int main(void) { return 0; }", some_clang(), "-x", "c",
               "-fsanitize=address,undefined", "-", "-o", in_dir("m"))
        == 0;
}

static void test_sanitizers(void **state)
{
    (void)state;
    if (!has_sanitizers())
        SKIP("%s has no sanitizers", some_clang());
    write_words();
    emit(g2p, "--march=x86-64-v3", "--width=8");
    assert_true(WORKS(some_clang(), "-O1", "-march=x86-64-v3", "-DATTNC_MAIN",
                      "-fsanitize=address,undefined",
                      "-fno-sanitize-recover=all", in_dir("m.c"), "-lm", "-o",
                      in_dir("m")));
    answer_words(in_dir("m"), in_dir("m.weights"), in_dir("answers"));
}

/* ---- weights inside ---- */

static void test_embedded(void **state)
{
    (void)state;
    const char *compilers[] = { some_clang(), "gcc", "tcc" };
    emit(g2p, "--march=generic", "--embed");
    assert_int_equal(files(dir), 2); /* m.c, m.h */
    for (int i = 0; i < 3; i++) {
        Spawned s;
        const double from = seconds();
        if (!WORKS(compilers[i], "-std=c11", "-O1", "-Wall", "-Wextra",
                   "-Werror", "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o",
                   in_dir("m")))
            continue;
        print_message("weights inside: %s in %.1f s\n", compilers[i],
                      seconds() - from);
        assert_int_equal(RUN(&s, "attention\n", in_dir("m")), 0);
        assert_string_equal(s.out, "AH T EH N SH AH N\n");
        assert_int_equal(RUN(&s, "attention\n", in_dir("m"), "hi", "-n"), 2);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_compilers_agree),
        TEST(test_sanitizers),
        TEST(test_embedded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
