/* parts_test.c: tests attnc compile --parts: every file compiles without
 * warnings by gcc and clang; the first program in the header of --parts=model
 * gives bit-identical results to the file with all parts; a program with only
 * its part answers like the one with all; an object exports what its header
 * declares. Also tests --runtime=beside: models of different kinds, formats and
 * parts share one attn.c, with the same bits. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

#define FLAGS "-std=c11 -mavx2 -mfma -Wall -Wextra -Werror"
/* gcc warns of more at -O1; all else is compiled at -O0, by clang, the fastest.
 */
static const char warnings[] = "-O1 " FLAGS, quickly[] = "-O0 " FLAGS;

/* The weights of g2p-en as C text take longer to compile than its code: they
 * stay in a file, NAME.weights. */
static const char *embedded(const char *spec)
{
    return spec == g2p ? "" : "--embed";
}

static const char *output_of(const char *command)
{
    Spawned s;
    const char *line = arena_printf(a, "cd %s && %s", dir, command);
    if (RUN(&s, "", "/bin/sh", "-c", line) != 0)
        fail_msg("%s: %s%s", command, s.out, s.tail);
    return arena_strdup(a, s.out);
}

/* Writes NAME.c and NAME.h; false: the model has not all of these parts. */
static bool compiled(const char *spec, const char *name, const char *options)
{
    Spawned s;
    const int code = RUN(&s, "", "/bin/sh", "-c",
                         arena_printf(a,
                                      "%s compile %s --set=name=m %s "
                                      "--march=x86-64-v3 --no-records --quiet "
                                      "%s -o %s.c",
                                      attnc(), spec, embedded(spec), options,
                                      in_dir(name)));
    if (code != 0 && !strstr(s.tail, "has no such part"))
        fail_msg("%s %s: %s", spec, options, s.tail);
    return code == 0;
}

/* Writes a program that runs the header's and prints the bits of its result. */
static void write_printing(const char *header, const char *result)
{
    size_t n;
    Fault why;
    const char *at = strstr(text_of(in_dir(header), &n), " *     // ");
    const char *code = "#define main example\n";
    assert_non_null(at);
    for (; strncmp(at, " * Compile it ", 14); at = strchr(at, '\n') + 1) {
        const int size = (int)strcspn(at, "\n"), skipped = size < 7 ? size : 7;
        code = arena_printf(a, "%s%.*s\n", code, size - skipped, at + skipped);
    }
    code = arena_printf(a,
                        "%s#undef main\n"
                        "#include <stdio.h>\n"
                        "int main(void)\n"
                        "{\n"
                        "    if (example())\n"
                        "        return 1;\n"
                        "    for (size_t i = 0; i < sizeof %s / 4; i++)\n"
                        "        printf(\"%%a\\n\", (double)%s[i]);\n"
                        "    return 0;\n"
                        "}\n",
                        code, result, result);
    assert_true(write_file(in_dir("x.c"), code, strlen(code), &why));
}

/* ---- the model alone ---- */

static void check_model(const char *spec, const char *options,
                        const char *result)
{
    assert_true(compiled(spec, "all", options));
    assert_true(
        compiled(spec, "m", arena_printf(a, "%s --parts=model", options)));
    write_printing("m.h", result);
    output_of(arena_printf(a, "%s %s x.c all.c -lm -o x && ./x > all.txt",
                           some_clang(), quickly));
    output_of("grep -q 0x1 all.txt");
    for (int gcc = 0; gcc < 2; gcc++) {
        output_of(arena_printf(a, "%s %s x.c m.c -lm -o x && ./x > m.txt",
                               gcc ? "gcc" : some_clang(),
                               gcc ? warnings : quickly));
        same_file(in_dir("all.txt"), in_dir("m.txt"));
    }
}

static void test_model(void **state)
{
    (void)state;
    check_model("models/tiny.yaml", "--seed=1", "logits");
    check_model("models/tiny.yaml", "--seed=1 --set=dtype=int8", "logits");
    check_model("models/tiny.yaml", "--seed=1 --fix source=5,batch=2,target=2",
                "logits");
    check_model("tests/torch/softcap.yaml", "", "logits");
    check_model("tests/torch/pool_mean.yaml", "", "out");
    check_model("models/attention.yaml", "--seed=1 --set=d_model=64", "out");
}

/* ---- some parts ---- */

/* Checks which functions an object exports and its header declares. */
static void look_at_names(void)
{
    assert_string_equal(
        output_of("gcc-nm -g --defined-only c.o | sed 's/.* //' | sort"),
        output_of("sed -n 's/^[a-z].*[ *]\\(m_[a-z_]*\\)(.*/\\1/p' c.h | sort "
                  "-u"));
}

static void check_parts(const char *spec, const char *options)
{
    static const char *const lists[] = {
        "model",       "text",        "search",       "streams",
        "states",      "handle",      "threads",      "main",
        "text,search", "handle,text", "main,threads", "handle,threads,main",
        "main,text"
    };
    int files = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!compiled(spec, "c",
                      arena_printf(a, "%s --parts=%s", options, lists[i])))
            continue;
        files++;
        /* -flto: all warnings of -O0 and all names, without machine code */
        output_of(arena_printf(a, "gcc %s -flto -c c.c", quickly));
        look_at_names();
        output_of(arena_printf(a,
                               "%s %s -DATTNC_MAIN -DATTNC_THREADS "
                               "-fsyntax-only c.c",
                               some_clang(), quickly));
    }
    assert_true(files >= 5);
}

static void test_parts(void **state)
{
    (void)state;
    check_parts("models/tiny.yaml", "--seed=1");
    check_parts("tests/torch/pool_mean.yaml", "");
    check_parts(g2p, "");
    check_parts("models/tiny.yaml", "--seed=1 --freestanding");
}

/* Tests that the part `main` alone gives the same program, except for
 * --threads. */
static void test_main(void **state)
{
    static const char *const parts[] = { "", "--parts=main",
                                         "--parts=main,text",
                                         "--parts=main,threads,text" };
    const char *ids = NULL;
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const bool text = i != 1, threads = i == 0 || i == 3;
        const char *ask = text ? "echo hello | ./p p.weights"
                               : "echo 10 7 14 14 17 | ./p p.weights";
        assert_true(compiled(g2p, "p", parts[i]));
        output_of(arena_printf(a, "%s %s -DATTNC_MAIN p.c -lm -o p",
                               some_clang(), quickly));
        if (i == 0)
            ids = output_of("echo 10 7 14 14 17 | ./p p.weights --ids");
        assert_string_equal(output_of(ask), text ? "HH EH L OW\n" : ids);
        Spawned s;
        assert_int_equal(RUN(&s, "", in_dir("p"), in_dir("p.weights"),
                             "--threads=2"),
                         threads ? 0 : 2);
        if (!threads)
            assert_non_null(strstr(s.tail, "--threads"));
    }
}

/* Tests steps without the part threads, which have another text: gcc compiles
 * them at this level. */
static void check_steps(const char *spec, const char *options,
                        const char *level)
{
    static const char lines[] =
        "awk 'BEGIN { for (i = 1; i < 9; i++) { for (j = 0; j < i; j++) printf "
        "\"%d \", (i * 7 + j * 5) % 6; print \"\" } }'";
    const char *expected = NULL;
    for (int all = 1; all >= 0; all--) {
        assert_true(compiled(spec, "p",
                             arena_printf(a, "%s %s", options,
                                          all ? "" : "--parts=main")));
        output_of(arena_printf(a, "%s %s -DATTNC_MAIN p.c -lm -o p",
                               all ? some_clang() : "gcc",
                               all ? quickly : level));
        const char *got = output_of(arena_printf(a, "%s | ./p", lines));
        assert_true(strlen(got) > 8);
        if (expected)
            assert_string_equal(got, expected);
        expected = got;
    }
}

static void test_steps(void **state)
{
    (void)state;
    check_steps("models/tiny.yaml", "--seed=1", warnings);
    check_steps("models/tiny.yaml",
                "--seed=1 --set=kind=encoder --skip=fuse-attention "
                "--set=ffn.type=experts --set=ffn.experts=4 "
                "--set=ffn.chosen=2 --set=dtype=int8",
                warnings);
    check_steps("models/tiny.yaml",
                "--seed=1 --set=dtype=int4,arithmetic=int15", warnings);
    static const char *const models[] = {
        "additive_heads", "gru_stack", "latent",    "lstm",  "lstm_source",
        "prefix",         "separable", "mask_file", "window"
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check_steps(arena_printf(a, "tests/torch/%s.yaml", models[i]), "",
                    quickly);
    check_steps("tests/torch/causal_convolution.yaml", "", quickly);
}

/* Tests that a handle without threads reports it. */
static void test_handle(void **state)
{
    static const char code[] =
        "#include <stdio.h>\n"
        "#include \"h.h\"\n"
        "int main(void)\n"
        "{\n"
        "    struct attn_open_options o = { .threads = 2 };\n"
        "    struct attn_handle *h = m_open(NULL, &o);\n"
        "    puts(m_error(h));\n"
        "    m_close(h);\n"
        "    h = m_open(NULL, NULL);\n"
        "    puts(m_error(h));\n"
        "    m_close(h);\n"
        "    return 0;\n"
        "}\n";
    Fault why;
    (void)state;
    assert_true(write_file(in_dir("h_main.c"), code, strlen(code), &why));
    assert_true(compiled("models/tiny.yaml", "h", "--seed=1 --parts=handle"));
    output_of(arena_printf(a, "gcc %s -DATTNC_THREADS h.c h_main.c -lm -o h",
                           quickly));
    assert_string_equal(output_of("./h"),
                        "2 threads: the C file of m was made without the part "
                        "threads of attnc compile --parts\n\n");
}

/* ---- the runtime beside the models ---- */

/* Compiles a model whose names begin with NAME, to NAME.c. */
static void compiled_as(const char *spec, const char *name, const char *options)
{
    Spawned s;
    const int code = RUN(&s, "", "/bin/sh", "-c",
                         arena_printf(a,
                                      "%s compile %s --set=name=%s %s "
                                      "--march=x86-64-v3 --no-records --quiet "
                                      "%s -o %s.c",
                                      attnc(), spec, name, embedded(spec),
                                      options, in_dir(name)));
    if (code != 0)
        fail_msg("%s %s: %s", spec, options, s.tail);
}

static const char three_models[] =
    "#include <stdio.h>\n"
    "#include \"words.h\"\n"
    "#include \"rows.h\"\n"
    "#include \"bytes.h\"\n"
    "int main(void)\n"
    "{\n"
    "    _Alignas(64) static char bound[BYTES_BOUND_BYTES];\n"
    "    static char memory[BYTES_STREAM_BYTES];\n"
    "    static const int32_t ids[] = { 3, 4, 5 };\n"
    "    static float out[ROWS_MAX_SOURCE * ROWS_OUTPUT];\n"
    "    struct attn_open_options threads = { .threads = 2 };\n"
    "    struct attn_search_options o;\n"
    "    struct attn_stream s;\n"
    "    char text[1000];\n"
    "    int64_t n, id;\n"
    "    struct attn_handle *h = words_open(\"words.weights\", &threads);\n"
    "    words_translate(h, \"compiler\", -1, NULL, text, sizeof text);\n"
    "    printf(\"%s%s\\n\", text, words_error(h));\n"
    "    words_close(h);\n"
    "    h = rows_open(NULL, NULL);\n"
    "    n = rows_encode(h, ids, 3, out);\n"
    "    for (int64_t i = 0; i < n * ROWS_OUTPUT; i++)\n"
    "        printf(\"%a\\n\", (double)out[i]);\n"
    "    printf(\"%d%s\\n\", (int)n, rows_error(h));\n"
    "    rows_close(h);\n"
    "    bytes_options(&o);\n"
    "    const void *weights = bytes_embedded(&n);\n"
    "    bytes_bind(bound, weights, n);\n"
    "    bytes_stream_open(&s, bound, &o, ids, 3, 9, 1, memory,\n"
    "                      sizeof memory);\n"
    "    while ((id = bytes_stream_next(&s)) >= 0)\n"
    "        printf(\"%d\\n\", (int)id);\n"
    "    return 0;\n"
    "}\n";

/* Tests a program of three models: one that translates text, one that encodes
 * without a search, one with another format and only streams. */
static void test_beside(void **state)
{
    Fault why;
    (void)state;
    assert_true(
        write_file(in_dir("x.c"), three_models, strlen(three_models), &why));
    for (int beside = 0; beside < 2; beside++) {
        const char *where = beside ? "--runtime=beside" : "";
        compiled_as(g2p, "words", where);
        output_of(beside ? "cp attn.c first.c" : ":");
        compiled_as("models/tiny.yaml", "rows",
                    arena_printf(a, "--seed=1 --set=kind=encoder %s", where));
        compiled_as("models/tiny.yaml", "bytes",
                    arena_printf(a,
                                 "--seed=1 --set=dtype=int8 --parts=streams %s",
                                 where));
        for (int gcc = 0; gcc < 1 + beside; gcc++) {
            output_of(arena_printf(a,
                                   "%s %s -DATTNC_THREADS x.c words.c rows.c "
                                   "bytes.c %s -lm -pthread -o x && ./x > "
                                   "got.txt",
                                   gcc ? "gcc" : some_clang(),
                                   gcc ? warnings : quickly,
                                   beside ? "attn.c" : ""));
            output_of(beside ? "cmp got.txt all.txt"
                             : "grep -q 0x got.txt && grep -q AH got.txt && mv "
                               "got.txt all.txt");
        }
    }
    output_of("cmp first.c attn.c"); /* it depends on no model */
}

/* Tests the program of a model, and a model without files and malloc(). */
static void test_beside_program(void **state)
{
    static const char *const compilers[] = { "gcc", "g++ -x c++ -std=c++17" };
    (void)state;
    compiled_as(g2p, "words", "--runtime=beside");
    output_of(arena_printf(a,
                           "%s %s -DATTNC_MAIN words.c attn.c -lm -pthread "
                           "-o p",
                           some_clang(), quickly));
    assert_string_equal(output_of("echo hello | ./p words.weights --threads=2"),
                        "HH EH L OW\n");
    output_of(arena_printf(a,
                           "gcc %s -DATTNC_FREESTANDING -c attn.c && ! nm "
                           "attn.o | grep -E ' U (malloc|open|fopen|printf)'",
                           quickly));
    for (int i = 0; i < 2; i++)
        output_of(arena_printf(a,
                               "echo '#include \"words.h\"' > y.c && %s -Wall "
                               "-Wextra -Werror -fsyntax-only y.c",
                               compilers[i]));
    output_of("sed -i 's/ATTN_RUNTIME 0x.*/ATTN_RUNTIME 1/' attn.h");
    output_of(arena_printf(a,
                           "! gcc %s -c words.c 2> why.txt && grep -q "
                           "'attn.h is of another attnc' why.txt",
                           quickly));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_beside), TEST(test_beside_program), TEST(test_model),
        TEST(test_parts),  TEST(test_main),           TEST(test_steps),
        TEST(test_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
