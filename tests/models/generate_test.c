/* generate_test.c: tests one answer, token by token: a seed gives the same text
 * with every backend, compiler, width and instruction set; attnc run and the
 * model's own program agree with every option; and each continues states that
 * the other saved. Always runs with a model of phones, and with one of stories
 * if its files are next to the repository. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "engine/engine.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/expected.h"
#include "support/native_width.h"

static const char *model; /* words: the spec, and the directory of its files */

static int use_phones(void **state)
{
    model = g2p;
    return set_up_sharing(state);
}

static int use_stories(void **state)
{
    int failed = set_up_sharing(state);
    const char *folder = arena_printf(a, "%s/stories260K", data_folder());
    model = NULL;
    if (!failed && !access(folder, R_OK))
        model = arena_printf(a,
                             "models/stories260K.yaml --weights "
                             "%s/model.safetensors --set "
                             "vocab.file=%s/tokenizer.json",
                             folder, folder);
    return failed;
}

static void need_model(void)
{
    if (!model)
        SKIP("%s/stories260K is not there", data_folder());
}

/* Runs a shell line: $A is attnc, $S the model, $M its program, $W its weights,
 * $D a folder. */
static int sh(Spawned *s, const char *line)
{
    return RUN(s, "", "/bin/sh", "-c",
               arena_printf(a, "A=%s S='%s' M=%s W=%s D=%s; %s", attnc(), model,
                            in_dir("m"), in_dir("m.weights"), dir, line));
}

static void assert_works(Spawned *s, const char *line)
{
    int code = sh(s, line);
    if (code != 0)
        fail_msg("%s: %d: %s", line, code, s->tail);
}

static void build_program(void)
{
    Spawned s;
    need_model();
    assert_works(&s, "$A compile $S --march=native -o $D/m.c");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native",
                      "-DATTNC_MAIN", in_dir("m.c"), "-lm", "-o", in_dir("m")));
}

/* ---- the same bits ---- */

static const char *const ways[] = {
    "--backend=jit",
    "--backend=jit --width=1",
    "--backend=jit --march=generic",
    "--backend=jit --march=x86-64-v3",
    "--backend=clang",
    "--backend=clang -O0 --width=1",
    "--backend=clang --width=4",
    "--backend=clang --width=16",
    "--backend=clang --march=x86-64-v3",
    "--backend=gcc",
    "--backend=gcc --width=1 -O3",
    "--backend=tcc --march=generic --width=1",
};
static const char *const draws[] = {
    "--temperature=0",
    "--temperature=1",
    "--temperature=0.7 --seed=9",
    "--top-k=8 --seed=2",
    "--top-p=0.9 --seed=3",
    "--min-p=0.1 --seed=4",
    "--temperature=1.4 --top-k=40 --top-p=0.95 --min-p=0.02 --seed=5",
    "--temperature=1 --repetition-penalty=1.3 --seed=6",
};
enum {
    Ways = sizeof ways / sizeof *ways,
    Draws = sizeof draws / sizeof *draws
};

static bool runs_here(const char *way)
{
    if (strstr(way, "width=16") && native_width() < 16)
        return false;
    const char *name = strstr(way, "gcc") ? "gcc"
                     : strstr(way, "tcc") ? "tcc"
                                          : "sh";
    return find_program(a, name) != NULL;
}

static void test_seeds(void **state)
{
    (void)state;
    int distinct = 0;
    const char *text[Draws];
    need_model();
    for (int i = 0; i < Draws; i++) {
        text[i] = NULL;
        for (int w = 0; w < Ways; w++) {
            Spawned s;
            if (!runs_here(ways[w]))
                continue;
            assert_works(&s, arena_printf(a,
                                          "$A run $S --prompt=attention "
                                          "-n 150 %s %s",
                                          draws[i], ways[w]));
            if (!text[i])
                text[i] = arena_strdup(a, s.out);
            if (strcmp(text[i], s.out) != 0)
                fail_msg("%s %s: %s", draws[i], ways[w], s.out);
        }
        for (int j = 0; j < i; j++)
            distinct += strcmp(text[i], text[j]) != 0;
    }
    assert_true(distinct > Draws); /* they do draw */
}

/* ---- the program is attnc ---- */

/* Command lines for both, which may differ only in the texts of messages. */
static const char *const calls[] = {
    "-n 0 --prompt=attention",
    "--prompt attention -n 3",
    "--prompt=attention -n600",
    "--prompt=attention --stop=N",
    "--prompt=attention -n 60 --stop='in the' --stop='T EH'",
    "--prompt=attention -n 9 --stop=",
    "--prompt=",
    "--prompt= -n 4",
    "--prompt='\303\251\303\274 \346\227\245\360\237\231\202' -n 30",
    "--prompt=a\377b -n 5",
    "--prompt=attention --top-p=1.5",
    "--prompt=attention -n -1",
    "--prompt=attention --seed=x",
    "--prompt=attention --top-k=1.5",
    "--nothing",
    "--prompt",
    "-n 5",
    "--stop=x",
    "--load-state=/nowhere",
    "--load-state=/dev/null",
    "--prompt=attention -n 3 --save-state=/nowhere/x",
    "--prompt=$(head -c 510 /dev/zero | tr '\\0' a)",
    "--prompt=$(head -c 511 /dev/zero | tr '\\0' a)",
    "--prompt=$(head -c 1000 /dev/zero | tr '\\0' a)",
    "--prompt=$(head -c 60 /dev/zero | tr '\\0' a) -n 9",
    "--prompt=attention -n 7 --save-state=$D/kept",
    "--load-state=$D/kept",
    "--load-state=$D/kept -n 9 --save-state=$D/kept",
    "--load-state=$D/kept --prompt=s",
    "--load-state=$D/kept --prompt=' a' -n 9",
    "--prompt=attention --quiet -n 5",
};

static void assert_same(const char *options)
{
    Spawned x, y;
    int code = sh(&x, arena_printf(a,
                                   "K=$D/kept; cp $K $K.0 2> $D/no; "
                                   "$A run $S %s",
                                   options));
    assert_int_equal(sh(&y, "cp $D/kept.0 $D/kept 2> $D/no; true"), 0);
    int other = sh(&y, arena_printf(a, "$M $W %s", options));
    if (strcmp(x.out, y.out) != 0 || code != other)
        fail_msg("%s: %d %s%sand %d %s%s", options, code, x.out, x.tail, other,
                 y.out, y.tail);
    if ((*x.tail == '\0') != (*y.tail == '\0'))
        fail_msg("%s: stderr: %sand %s", options, x.tail, y.tail);
}

static void test_program(void **state)
{
    (void)state;
    build_program();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        assert_same(calls[i]);
    for (int i = 0; i < Draws; i++)
        assert_same(arena_printf(a, "--prompt=attention -n 150 %s", draws[i]));
}

/* Tests that a saved state has the same bytes, and continues identically. */
static void test_states(void **state)
{
    (void)state;
    static const char *const way[] = { "$A run $S", "$M $W",
                                       "$A run $S --backend=clang --width=1" };
    Spawned s;
    build_program();
    assert_works(&s, "$M $W --prompt=attention --top-k=4 -n 30");
    const char *whole = arena_strdup(a, s.out);
    for (int i = 0; i < 3; i++) {
        assert_works(&s, arena_printf(a,
                                      "%s --prompt=attention --top-k=4 "
                                      "-n 5 --save-state=$D/s%d",
                                      way[i], i));
        s.out[strlen(s.out) - 1] = '\0'; /* the newline */
        const char *begun = arena_strdup(a, s.out);
        assert_works(&s, arena_printf(a,
                                      "%s --top-k=4 -n 25 "
                                      "--load-state=$D/s%d",
                                      way[(i + 1) % 3], i));
        assert_string_equal(arena_printf(a, "%s%s", begun, s.out), whole);
        assert_works(&s, arena_printf(a, "cmp $D/s0 $D/s%d", i));
    }
}

/* Tests that text is printed as it is generated, and the speed after it if
 * wanted. */
static void test_speed(void **state)
{
    (void)state;
    static const char *const way[] = { "$A run $S", "$M $W" };
    Spawned s;
    build_program();
    for (int i = 0; i < 2; i++) {
        const char *line = arena_printf(a, "%s --prompt=attention -n 4",
                                        way[i]);
        assert_works(&s, line);
        assert_non_null(strstr(s.tail, "4 tokens, "));
        assert_non_null(strstr(s.tail, " tokens per second; the first after "));
        assert_works(&s, arena_printf(a, "%s --quiet", line));
        assert_string_equal(s.tail, "");
        assert_int_equal(sh(&s, arena_printf(a, "%s > /dev/full", line)), 4);
        assert_non_null(strstr(s.tail, "No space left on device"));
        assert_null(strstr(s.tail, "tokens per second"));
        assert_works(&s, arena_printf(a, "%s | head -c 1", line));
    }
}

/* Tests that a draft changes neither the text nor the state, and that the
 * number of its proposals is printed. */
static void test_draft(void **state)
{
    (void)state;
    static const char *const way[] = { "$A run $S", "$M $W",
                                       "$A run $S --backend=clang --width=1" };
    static const char *const how[] = { "", "--temperature=0.5",
                                       "--repetition-penalty=1.2" };
    Spawned s;
    need_model();
    build_program();
    for (int i = 0; i < 9; i++) {
        const char *line = arena_printf(a,
                                        "%s --prompt=attention -n 200 %s "
                                        "--save-state=$D/s",
                                        way[i % 3], how[i / 3]);
        assert_works(&s, line);
        const char *plain = arena_strdup(a, s.out);
        assert_works(&s, arena_printf(a, "%s.draft --draft=ngram", line));
        assert_string_equal(s.out, plain);
        assert_non_null(strstr(s.tail, " proposals taken"));
        assert_works(&s, "cmp $D/s $D/s.draft");
        if (i % 3 == 1)
            continue; /* a program has no other model */
        assert_works(&s, arena_printf(a, "%s.draft --draft=$S", line));
        assert_string_equal(s.out, plain);
        assert_non_null(strstr(s.tail, " proposals taken"));
        assert_works(&s, "cmp $D/s $D/s.draft");
    }
}

/* Tests that a draft of as many other tokens is refused. */
static void test_other_vocabulary(void **state)
{
    (void)state;
    Spawned s;
    need_model();
    if (model != g2p)
        return; /* the other model has no file of lines */
    assert_works(&s, "cp models/g2p-en/* $D && cd $D && sed -i s/^AA$/QQ/ "
                     "phones.txt");
    assert_int_equal(sh(&s, "$A run $S --prompt=attention "
                            "--draft=$D/g2p-en.yaml"),
                     3);
    assert_non_null(strstr(s.tail, "its vocabulary has other tokens"));
}

/* ---- the example of the docs ---- */

/* Returns the example of a page, with the names of the current model. */
static const char *example(const char *page, const char *prefix)
{
    size_t n;
    const char *text = text_of(page, &n);
    const char *at = strstr(text, "```c\n"), *code = "";
    assert_non_null(at);
    const char *end = strstr(at += 5, "```");
    for (const char *name; (name = strstr(at, "g2p_en")) && name < end;
         at = name + 6)
        code = arena_printf(a, "%s%.*s%s", code, (int)(name - at), at, prefix);
    return arena_printf(a, "%s%.*s", code, (int)(end - at), at);
}

static void run_example(const char *cc, const char *std, const char *language)
{
    Spawned s;
    if (!WORKS(cc, std, "-O0", "-march=native", "-Wall", "-Wextra", "-Werror",
               QUIET, "-x", language, in_dir("x.c"), "-x", "none",
               in_dir("model.o"), "-lm", "-o", in_dir("x")))
        return;
    assert_works(&s, "$A run $S --prompt=attention --temperature=0.8 "
                     "--top-p=0.9 --seed=7 -n 40");
    const char *want = arena_strdup(a, s.out);
    if (model != g2p) /* the prompt, which is not in the example */
        want += strlen("attention") + (want[strlen("attention")] == ' ');
    assert_int_equal(RUN(&s, "", in_dir("x"), "attention"), 0);
    assert_string_equal(s.out, want);
}

static void test_example(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    need_model();
    const char *code = example("docs/generate.md",
                               model == g2p ? "g2p_en" : "stories260k");
    assert_true(write_file(in_dir("x.c"), code, strlen(code), &why));
    assert_works(&s, "$A compile $S --march=native --embed -o $D/model.c");
    assert_true(WORKS(some_clang(), "-std=c11", "-O0", "-march=native", "-c",
                      in_dir("model.c"), "-o", in_dir("model.o")));
    run_example(some_clang(), "-std=c11", "c");
    run_example("gcc", "-std=c99", "c");
    run_example("g++", "-std=c++11", "c++");
    run_example(some_clang(), "-std=c++17", "c++");
}

/* Tests a caller's own threads, by OpenMP. */
static void test_threads(void **state)
{
    (void)state;
    static const char ids[] = "3 22 22 7 16 22 11 17 16 2";
    Spawned s;
    Fault why;
    if (!find_program(a, "gcc"))
        SKIP("there is no gcc");
    const char *code = example("docs/threads.md", "g2p_en");
    assert_true(write_file(in_dir("x.c"), code, strlen(code), &why));
    assert_works(&s, "$A compile $S --march=native --embed -o $D/model.c");
    assert_true(WORKS("gcc", "-std=c11", "-O0", "-march=native", "-Wall",
                      "-Wextra", "-fopenmp", in_dir("x.c"), in_dir("model.c"),
                      "-lm", "-o", in_dir("x")));
    assert_works(&s, arena_printf(a, "OMP_NUM_THREADS=3 $D/x %s", ids));
    const char *threads = arena_strdup(a, s.out);
    assert_works(&s, arena_printf(a, "echo %s | $A run $S --ids", ids));
    assert_string_equal(s.out, threads);
}

int main(void)
{
#define TEST(f)                                                               \
    cmocka_unit_test_setup_teardown(f, use_phones, tear_down),                \
    cmocka_unit_test_setup_teardown(f, use_stories, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_seeds),
        TEST(test_program),
        TEST(test_states),
        TEST(test_speed),
        TEST(test_draft),
        TEST(test_other_vocabulary),
        TEST(test_example),
        cmocka_unit_test_setup_teardown(test_threads, use_phones, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
