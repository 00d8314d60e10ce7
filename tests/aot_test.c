/* aot_test: what attnc compile writes, as its user has it: alone, with every
 * compiler, without a warning; the header in C and C++; the program and its
 * weights file, whole and damaged.                                          */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "../compiler/backend.h"

#include <cmocka.h>

#include "fake_programs.h"

static const char g2p[] = "models/g2p-en/g2p-en.yaml";

/* Runs a program found in PATH; its exit code. -1: it is not installed. */
static int run(Spawned *s, const char *input, const char *const *words)
{
    const char *argv[24] = { find_program(a, words[0]) };
    Fault why;
    int n = 1;
    while (words[n]) {
        argv[n] = words[n];
        n++;
    }
    if (!argv[0])
        return -1;
    if (spawn(s, argv, input, strlen(input), 300, &why))
        return 0;
    const char *code = strstr(why.text, "exit code ");
    if (!code)
        fail_msg("%s", why.text);
    return atoi(code + strlen("exit code "));
}
#define RUN(s, input, ...)                                                    \
    run((s), (input), (const char *const[]){ __VA_ARGS__, NULL })

static const char *attnc(void)
{
    return getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
}

static void emit(const char *spec, const char *march, const char *width)
{
    Spawned s;
    int code = RUN(&s, "", attnc(), "compile", spec, march, width, "-o",
                   in_dir("m.c"));
    if (code != 0)
        fail_msg("%s", s.tail);
}

/* Compiles m.c strictly as an object or, with "-DATTNC_MAIN", a program's. */
static void compile_strictly(const char *cc, const char *march,
                             const char *pedantic, const char *define)
{
    Spawned s;
    int code = RUN(&s, "", cc, "-O1", "-std=c11", march, "-Wall", "-Wextra",
                   "-Werror", pedantic, define, "-c", in_dir("m.c"), "-o",
                   in_dir("m.o"));
    if (code > 0)
        fail_msg("%s %s %s: %s", cc, march, define, s.tail);
}

static const char *some_clang(void)
{
    Fault why;
    const char *cc = cc_find(a, NULL, &why);
    assert_non_null(cc);
    return cc;
}

static void test_no_warning(void **state)
{
    (void)state;
    static const char *const specs[] = {
        g2p, "models/tiny.yaml", "models/attention.yaml",
        "models/aren-transliteration.yaml"
    };
    const char *compilers[] = { some_clang(), "gcc" };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        emit(specs[i], "--march=x86-64-v3", "--width=8");
        for (int c = 0; c < 2; c++) {
            compile_strictly(compilers[c], "-march=x86-64-v3", "-Wvla",
                             "-DNOTHING");
            if (i == 0)
                compile_strictly(compilers[c], "-march=x86-64-v3", "-Wvla",
                                 "-DATTNC_MAIN");
        }
    }
}

static void test_portable(void **state)
{
    (void)state;
    emit("models/tiny.yaml", "--march=generic", "--width=1");
    compile_strictly(some_clang(), "-DX", "-Wpedantic", "-DNOTHING");
    compile_strictly("gcc", "-DX", "-Wpedantic", "-DNOTHING");
    compile_strictly("tcc", "-DX", "-DY", "-DNOTHING");
}

/* Compiled for less than it was emitted for, it says what to do. */
static void test_guard(void **state)
{
    (void)state;
    Spawned s;
    emit("models/tiny.yaml", "--march=x86-64-v3", "--width=8");
    assert_int_not_equal(RUN(&s, "", some_clang(), "-std=c11", "-c",
                             in_dir("m.c"), "-o", in_dir("m.o")), 0);
    assert_non_null(strstr(s.tail, "-march=x86-64-v3"));
}

static void test_header(void **state)
{
    (void)state;
    static const char user[] = "#include \"m.h\"\n#include \"m.h\"\n"
                               "int main(void) { return 0; }\n";
    static const char *const calls[][3] = {
        { "gcc", "-std=c11", "c" }, { "clang", "-std=c11", "c" },
        { "g++", "-std=c++11", "c++" }, { "clang++", "-std=c++17", "c++" },
    };
    emit(g2p, "--march=x86-64-v3", "--width=8");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        Spawned s;
        int code = RUN(&s, user, calls[i][0], calls[i][1], "-Wall", "-Wextra",
                       "-Wpedantic", "-Werror", "-I", dir, "-x", calls[i][2],
                       "-fsyntax-only", "-");
        if (code > 0)
            fail_msg("%s: %s", calls[i][0], s.tail);
    }
}

static void same_file(const char *x, const char *y)
{
    File f, g;
    Fault why;
    assert_true(file_read(&f, x, SIZE_MAX - 1, &why));
    assert_true(file_read(&g, y, SIZE_MAX - 1, &why));
    assert_int_equal(f.size, g.size);
    assert_memory_equal(f.at, g.at, f.size);
    file_close(&f);
    file_close(&g);
}

/* The same bytes whatever the folder, the time and the locale. */
static void test_same_bytes(void **state)
{
    (void)state;
    Spawned s;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    const char *program = find_program(a, attnc());
    emit(g2p, "--march=x86-64-v3", "--width=8");
    assert_int_equal(chdir("models/g2p-en"), 0);
    setenv("TZ", "Asia/Tokyo", 1);
    int code = RUN(&s, "", program, "compile", "g2p-en.yaml",
                   "--march=x86-64-v3", "--width=8", "-o", in_dir("n.c"));
    assert_int_equal(chdir(here), 0);
    assert_int_equal(code, 0);
    same_file(in_dir("m.c"), in_dir("n.c"));
    same_file(in_dir("m.weights"), in_dir("n.weights"));
}

/* ---------------------------------------------------------- the program --- */
static void change_byte(const char *path, off_t at)
{
    char c;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, at), 1);
    c = (char)(c ^ 0x40);
    assert_int_equal(pwrite(fd, &c, 1, at), 1);
    close(fd);
}

static void test_program(void **state)
{
    (void)state;
    Spawned s;
    const char *weights = in_dir("m.weights");
    assert_int_equal(RUN(&s, "", attnc(), "compile", g2p, "-o", in_dir("m"),
                         "--emit=exe", "--march=native", "-O1"), 0);
    assert_int_equal(RUN(&s, "attention\nhello\n", in_dir("m"), weights), 0);
    assert_string_equal(s.out, "AH T EH N SH AH N\nHH EH L OW\n");
    assert_int_not_equal(RUN(&s, "", in_dir("m")), 0);
    assert_int_not_equal(RUN(&s, "", in_dir("m"), in_dir("none")), 0);
    assert_int_not_equal(RUN(&s, "", in_dir("m"), dir), 0);
    static const off_t places[] = { 0, 8, 16, 32 };   /* magic, hash, sizes */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        change_byte(weights, places[i]);
        assert_int_not_equal(RUN(&s, "hello\n", in_dir("m"), weights), 0);
        assert_string_equal(s.out, "");
        change_byte(weights, places[i]);
    }
    assert_int_equal(RUN(&s, "hello\n", in_dir("m"), weights), 0);
    struct stat st;
    assert_int_equal(stat(weights, &st), 0);
    const off_t cuts[] = { 0, 7, 100, 4095, st.st_size / 2, st.st_size - 1 };
    for (int i = 5; i >= 0; i--) {
        assert_int_equal(truncate(weights, cuts[i]), 0);
        assert_int_not_equal(RUN(&s, "hello\n", in_dir("m"), weights), 0);
        assert_string_equal(s.out, "");
    }
}

static void test_embedded(void **state)
{
    (void)state;
    Spawned s;
    assert_int_equal(RUN(&s, "", attnc(), "compile", g2p, "-o", in_dir("m"),
                         "--emit=exe", "--march=native", "-O1", "--embed"), 0);
    assert_int_equal(files(dir), 1);
    assert_int_equal(RUN(&s, "attention\n", in_dir("m")), 0);
    assert_string_equal(s.out, "AH T EH N SH AH N\n");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_no_warning), TEST(test_portable), TEST(test_guard),
        TEST(test_header), TEST(test_same_bytes), TEST(test_program),
        TEST(test_embedded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
