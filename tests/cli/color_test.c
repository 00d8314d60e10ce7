/* color_test.c: tests that colours appear only on a terminal that supports
 * them, unless NO_COLOR or --color disables them. They change nothing else in a
 * text, and never appear in a file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"

typedef enum { ToTerminal, ToPipe } Where;

typedef struct {
    const char *term, *no_color; /* NULL: not set */
} Setting;

static const Setting xterm = { "xterm", NULL };

/* Opens both ends of attnc's output. A terminal here is as raw as a pipe,
 * except that it ends lines with CR LF. */
static void open_ends(Where where, int end[2])
{
    if (where == ToPipe) {
        assert_int_equal(pipe(end), 0);
        return;
    }
    end[0] = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(end[0] >= 0);
    assert_int_equal(grantpt(end[0]), 0);
    assert_int_equal(unlockpt(end[0]), 0);
    end[1] = open(ptsname(end[0]), O_RDWR | O_NOCTTY);
    assert_true(end[1] >= 0);
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Returns what attnc writes to `fd`, 1 or 2, without CRs; discards the other.
 */
static const char *written(const Setting *s, Where where, int fd,
                           const char *line)
{
    char text[400];
    const char *argv[20] = { attnc() };
    int n = 1, end[2];
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[n++] = w;
    open_ends(where, end);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        set("TERM", s->term);
        set("NO_COLOR", s->no_color);
        const int none = open("/dev/null", O_RDWR);
        dup2(none, 0);
        dup2(none, 3 - fd);
        dup2(end[1], fd);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(end[1]);
    Buffer b = { .arena = a };
    char part[4096];
    ssize_t got; /* a terminal without writers is an error, EIO */
    while ((got = read(end[0], part, sizeof part)) > 0)
        for (ssize_t i = 0; i < got; i++)
            if (part[i] != '\r')
                buffer_add(&b, part + i, 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 127);
    close(end[0]);
    assert_true(b.n > 0);
    return b.at;
}

static bool colored(const char *text)
{
    return strchr(text, '\033');
}

/* Returns the text without its colours. */
static const char *plain(const char *text)
{
    Buffer b = { .arena = a };
    for (; *text; text++)
        if (*text == '\033')
            text += strcspn(text, "m");
        else
            buffer_add(&b, text, 1);
    return b.at;
}

static const char wrong[] = "graph tests/cli/small.yaml --set d_modle=3";

static void when(void **state)
{
    static const struct {
        Setting set;
        Where where;
        const char *option;
        bool colors;
    } cases[] = {
        { { "xterm", NULL }, ToTerminal, "", true },
        { { "xterm", NULL }, ToPipe, "", false },
        { { "dumb", NULL }, ToTerminal, "", false },
        { { "", NULL }, ToTerminal, "", false },
        { { NULL, NULL }, ToTerminal, "", false },
        { { "xterm", "1" }, ToTerminal, "", false },
        { { "xterm", "0" }, ToTerminal, "", false },
        { { "xterm", "" }, ToTerminal, "", true },
        { { "xterm", NULL }, ToTerminal, "--color=auto", true },
        { { "xterm", "1" }, ToTerminal, "--color=auto", false },
        { { "xterm", NULL }, ToPipe, "--color=auto", false },
        { { "xterm", NULL }, ToTerminal, "--color=never", false },
        { { "xterm", "1" }, ToTerminal, "--color=always", true },
        { { "dumb", NULL }, ToPipe, "--color=always", true },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int fd = 1; fd <= 2; fd++) {
            const char *line = arena_printf(a, "%s %s",
                                            fd == 1 ? "help run" : wrong,
                                            cases[i].option);
            const char *text = written(&cases[i].set, cases[i].where, fd, line);
            if (colored(text) != cases[i].colors)
                fail_msg("case %zu: %s: %s", i, line, text);
        }
}

/* Tests that if one of the two is a terminal, the other has no colours. */
static void each_for_itself(void **state)
{
    (void)state;
    Spawned s;
    const char *line = "script=$(\"$0\" graph tests/cli/small.yaml --set x=3 "
                       "2>&1); printf %s \"$script\"";
    assert_int_equal(RUN(&s, "", "/bin/sh", "-c", line, attnc()), 0);
    assert_false(colored(s.tail));
}

static void parts(void **state)
{
    (void)state;
    const char *error = written(&xterm, ToTerminal, 2, wrong);
    assert_non_null(strstr(error, "\033[1;31merror: "));
    assert_non_null(strstr(error, "\033[1;32m^"));
    assert_non_null(strstr(error, "\033[1;36mnote: "));
    assert_non_null(strstr(error, "did you mean 'd_model'?\033[0m"));
    const char *help = written(&xterm, ToTerminal, 1, "help run");
    assert_non_null(strstr(help, "\033[1mModel:\033[0m\n"));
    const char *fields = written(&xterm, ToTerminal, 1, "fields");
    assert_non_null(strstr(fields, "\n\033[1md_model\033[0m\n"));
    const char *bench = written(&xterm, ToTerminal, 1,
                                "bench models/tiny.yaml -p 8 -n 0 -t 1 "
                                "--seconds=0.01 --no-kernels");
    assert_non_null(strstr(bench, "\033[1mworkload "));
    const char *csv = written(&xterm, ToTerminal, 1,
                              "bench models/tiny.yaml -p 8 -n 0 -t 1 "
                              "--seconds=0.01 --no-kernels --format=csv "
                              "--color=always");
    assert_false(colored(csv));
}

/* Tests that the table of verify has the columns that fit the terminal. */
static void verify_table(void **state)
{
    (void)state;
    static const char *const columns[] = { "60", "80", "120" };
    const char *line = "verify tests/cli/one.yaml --backend=jit";
    for (int i = 0; i < 3; i++) {
        set("COLUMNS", columns[i]);
        const char *text = written(&xterm, ToTerminal, 1, line);
        assert_non_null(strstr(text, "\n\033[1m  op "));
        const char *s = plain(text);
        assert_non_null(strstr(s, "err/gate"));
        assert_int_equal(strstr(s, " oracle  ") != NULL, i > 0);
        assert_int_equal(strstr(s, " index  ") != NULL, i == 2);
        assert_int_equal(strstr(s, ".masked_scores") != NULL, i == 2);
        for (bool table = false; *s; s += strcspn(s, "\n") + 1) {
            table = strncmp(s, "  op ", 5) == 0 || (table && *s == ' ');
            assert_in_range(strcspn(s, "\n"), 0, table ? atoi(columns[i]) : 80);
        }
    }
    set("COLUMNS", NULL);
}

/* Tests that colours are the only difference. */
static void same_text(void **state)
{
    static const char *const lines[] = {
        "help",
        "help run",
        "run --help",
        "plan tests/cli/small.yaml --no-records",
        "graph tests/cli/small.yaml",
        "fields",
        "tensors models/g2p-en/g2p-en.yaml",
        "graph tests/cli/small.yaml --set d_modle=3",
        "graph tests/cli/small.yaml --set h=5",
        "run --no-such",
        "run none.yaml",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const int fd = i < 7 ? 1 : 2;
        const char *seen = written(&xterm, ToTerminal, fd, lines[i]);
        const char *piped = written(&xterm, ToPipe, fd, lines[i]);
        assert_false(colored(piped));
        assert_string_equal(plain(seen), piped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when),      cmocka_unit_test(each_for_itself),
        cmocka_unit_test(parts),     cmocka_unit_test(verify_table),
        cmocka_unit_test(same_text),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
