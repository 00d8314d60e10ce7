/* handle_chat_test.c: conversations of an open model, by chat_calls.c: they
 * have the bytes of the program's --chat, whatever the draft, the threads and
 * the sampling; a turn that is not taken leaves no trace; and a new
 * conversation answers as that of a new handle. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

static const char talk[] = "tests/cli/chat.yaml";

/* several turns, among them an empty one, one with a character that is no
 * token, and one that is too long */
static const char turns[] = "hello\nhole\noh\n\nlo%\n"
                            "hellohellohellohellohellohellohellohello"
                            "hellohellohellohellohellohello\neh\n";

/* Compiles a spec, its program and chat_calls.c. */
static void build(const char *spec, const char *set, const char *runtime)
{
    const bool beside = strstr(runtime, "beside") != NULL;

    assert_true(WORKS(attnc(), "compile", spec, "--march=x86-64-v3", set,
                      runtime, "--set=name=m", "--embed", "-o", in_dir("m.c")));
    for (int i = 0; i < 2; i++)
        assert_true(WORKS(some_clang(), "-std=c11", "-O1", "-march=x86-64-v3",
                          "-Wall", "-Wextra", "-Werror", "-I", dir,
                          i ? "-DATTNC_MAIN" : "-DATTNC_THREADS", "-pthread",
                          i ? "-DY" : "-Wl,--wrap=malloc",
                          i ? "-DZ" : "tests/support/chat_calls.c",
                          in_dir("m.c"), beside ? in_dir("attn.c") : "-DX",
                          "-lm", "-o", in_dir(i ? "program" : "calls")));
}

/* Returns what the program answers. */
static const char *program(const char *text, const char *system,
                           const char *temperature, const char *seed)
{
    Spawned s;

    RUN(&s, text, in_dir("program"), "--chat",
        arena_printf(a, "--temperature=%s", temperature),
        arena_printf(a, "--seed=%s", seed),
        system ? arena_printf(a, "--system=%s", system) : "--quiet");
    return arena_strndup(a, s.out, strlen(s.out));
}

/* Runs chat_calls.c. */
static void calls(Spawned *s, const char *text, const char *draft,
                  const char *temperature, const char *seed, const char *chat,
                  const char *threads)
{
    if (RUN(s, text, in_dir("calls"), draft, temperature, seed, chat, threads)
        != 0)
        fail_msg("%s%s", s->out, s->tail);
}

/* Compares the answers to `turns`. */
static void check(const char *temperature, const char *seed)
{
    static const char *const drafts[] = { "0", "1", "2" };
    const char *expected = program(turns, NULL, temperature, seed);
    Spawned s;

    for (int d = 0; d < 3; d++) {
        calls(&s, turns, drafts[d], temperature, seed, "90", d ? "1" : "2");
        assert_string_equal(s.out, expected);
        assert_non_null(strstr(s.tail, "-2: byte 3: a character or word"));
        assert_null(strstr(s.tail, "blocks"));
    }
}

static void check_spec(const char *spec, const char *set, const char *runtime)
{
    build(spec, set, runtime);
    check("0", "0");
    check("1", "7");
    check("2", "8");
}

static void test_answers(void **state)
{
    (void)state;
    check_spec(talk, "--quiet", "--quiet");
    check_spec(talk, "--set=chat.system.inside=true", "--runtime=beside");
    check_spec("tests/cli/chat_trim.yaml", "--set=chat.trim=all", "--quiet");
}

/* Tests that a turn that is not taken, and with it the errors, are without
 * effect on the others. */
static void test_refused(void **state)
{
    Spawned with, s;

    (void)state;
    build(talk, "--quiet", "--quiet");
    calls(&with, "hello\nlo%\nhole\n/new %\noh\n", "1", "1", "3", "90", "1");
    calls(&s, "hello\nhole\noh\n", "0", "1", "3", "90", "1");
    const char *second = strchr(with.out, '\n') + 1;
    assert_memory_equal(with.out, s.out, second - with.out);
    assert_int_equal(*second, '\n');
    assert_string_equal(second + 1, s.out + (second - with.out));
    assert_non_null(strstr(with.tail, "-2: byte 1: a character or word"));
    calls(&s, "hello\nhole\n", "0", "0", "0", "26", "1");
    assert_non_null(strstr(s.tail,
                           "-6: the turn has 8 tokens after 19 of the "
                           "conversation, at most 26 are taken: chat of the "
                           "options at open\n"));
    calls(&s, "hello\nhole\n", "0", "0", "0", "27", "1");
    assert_string_equal(s.tail, "");
    calls(&s, "hello\n/new\n", "0", "0", "0", "0", "1");
    assert_string_equal(s.out, "\n");
    assert_non_null(strstr(s.tail,
                           "-9: the handle has no conversation: chat of the "
                           "options at open\n"));
    calls(&s, "hello\n", "0", "0", "0", "91", "1");
    assert_non_null(strstr(s.tail, "chat: 0 to 90 are taken\n"));
}

/* Tests that conversations of a handle answer as those of new ones. */
static void test_begin(void **state)
{
    static const char *const systems[] = { NULL, "hello", "", NULL };
    static const char text[] = "hello\nhole\noh\n";
    const char *expected = "", *all = "";
    Spawned s;

    (void)state;
    build(talk, "--quiet", "--quiet");
    for (int i = 0; i < 4; i++) {
        expected = arena_printf(a, "%s%s", expected,
                                program(text, systems[i], "1", "5"));
        all = arena_printf(a, "%s%s%s%s%s", all, i ? "/new" : "",
                           systems[i] ? " " : "", systems[i] ? systems[i] : "",
                           i ? "\n" : "");
        all = arena_printf(a, "%s%s", all, text);
    }
    calls(&s, all, "1", "1", "5", "90", "1");
    assert_string_equal(s.out, expected);
    assert_string_equal(s.tail, "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_answers),
        TEST(test_refused),
        TEST(test_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
