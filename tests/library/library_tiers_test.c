/* library_tiers_test.c: --backend=auto of attnc.h: handles of many threads work
 * while the C compiler does, their results have the same bits before and after
 * its object replaces libtcc's code, and no process stays when the model is
 * closed. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/tier_state.h"
#include "library/library.h"

#include <cmocka.h>

#include "support/fake_programs.h"

enum { Callers = 6, Columns = 16, NWords = 5, MostMs = 60000 };

static const char encoder[] =
    "attnc: 1\nname: words\nkind: encoder\nd_model: 16\nh: 2\nd_ff: 32\nN: 2\n"
    "max_len: 24\nvocab: {file: models/g2p-en/letters.txt, tokens: {end: 2}, "
    "split: characters, append_end: true}\nhead: {type: pool, pool: mean}\n";
static const char *const words[NWords] = { "a", "abc", "hello", "zebra",
                                           "transformers" };
static float expected[NWords * Columns];

static attnc_model *opened(const char *backend, const char *cc)
{
    attnc_model *m;
    const char *const options[] = { "--seed=3", "--threads=1", "-O0", backend,
                                    cc,         NULL };
    assert_int_equal(attnc_open(&m, "w.yaml", encoder, options, NULL, NULL),
                     ATTNC_DONE);
    return m;
}

static bool is_right(attnc_handle *h)
{
    float out[NWords * Columns];
    return attnc_embed(h, words, NULL, NWords, out, NWords * Columns, NULL)
            == NWords
        && memcmp(out, expected, sizeof out) == 0;
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static attnc_handle *handle_of(attnc_model *m)
{
    attnc_handle *h;
    assert_int_equal(attnc_handle_open(&h, m, NULL), ATTNC_DONE);
    return h;
}

static int prepare(void **state)
{
    if (set_up(state))
        return -1;
    attnc_model *m = opened("--backend=jit", NULL);
    attnc_handle *h = handle_of(m);
    assert_int_equal(attnc_embed(h, words, NULL, NWords, expected,
                                 NWords * Columns, NULL),
                     NWords);
    attnc_handle_close(h);
    attnc_close(m);
    return 0;
}

static void expect_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

/* ---- threads ---- */
typedef struct {
    attnc_model *m;
    bool right, switched; /* all results so far; by the object */
    bool until_refused;
} Caller;

static bool has_ended(const Caller *c)
{
    const Tier *t = c->m->e.backend.tier;
    return c->until_refused ? t->is_wrong : t->checked[TierEncode];
}

/* Encodes until the object is used, and then 20 times. */
static void *call_from_thread(void *with)
{
    Caller *c = with;
    attnc_handle *h;
    c->right = attnc_handle_open(&h, c->m, NULL) == ATTNC_DONE;
    for (int ms = 0; c->right && !c->switched && ms < MostMs; ms++) {
        c->right = is_right(h);
        c->switched = has_ended(c);
        pause_ms(1);
    }
    for (int i = 0; c->right && i < 20; i++)
        c->right = is_right(h);
    attnc_handle_close(h);
    return NULL;
}

/* Calls the model from all threads until the compiler's object is used, or
 * refused. */
static void call_from_all(attnc_model *m, bool until_refused)
{
    Caller caller[Callers];
    pthread_t thread[Callers];
    for (int i = 0; i < Callers; i++) {
        caller[i] = (Caller){ .m = m, .until_refused = until_refused };
        assert_int_equal(pthread_create(&thread[i], NULL, call_from_thread,
                                        &caller[i]),
                         0);
    }
    for (int i = 0; i < Callers; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < Callers; i++) {
        assert_true(caller[i].right);
        assert_true(caller[i].switched);
    }
}

static void test_threads(void **state)
{
    (void)state;
    attnc_model *m = opened("--backend=auto", NULL);
    assert_non_null(m->e.backend.tier);
    call_from_all(m, false);
    attnc_close(m);
    expect_no_child();
    m = opened("--backend=auto", NULL); /* has the object at once */
    assert_null(m->e.backend.tier);
    attnc_handle *h = handle_of(m);
    assert_true(is_right(h));
    attnc_handle_close(h);
    attnc_close(m);
}

/* A child of fork() leaves the compiler's message to the process that opened
 * the model. */
static void test_fork(void **state)
{
    (void)state;
    attnc_model *m = opened("--backend=auto", NULL);
    attnc_handle *h = handle_of(m);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool right = true;
        for (int ms = 0; right && ms < 300; ms++) {
            right = is_right(h);
            pause_ms(1);
        }
        attnc_handle_close(h);
        attnc_close(m);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    attnc_handle_close(h);
    call_from_all(m, false);
    attnc_close(m);
    expect_no_child();
}

/* ---- compilers ---- */

/* Returns the option --cc for a program that stands for a compiler. */
static const char *fake(const char *body)
{
    Fault why;
    const char *cc = cc_find(a, NULL, &why);
    return arena_printf(a, "--cc=%s",
                        script("fake",
                               arena_printf(a,
                                            "[ \"$1\" = --version ] && exec "
                                            "%s --version\n%s",
                                            cc, body)));
}

/* Returns the number in a file, once it is there. */
static pid_t pid_in(const char *path)
{
    int pid = 0;
    for (int ms = 0; pid == 0 && ms < MostMs; ms++) {
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%d", &pid) != 1)
            pid = 0;
        if (f)
            fclose(f);
        pause_ms(1);
    }
    assert_true(pid > 0);
    return pid;
}

/* Returns true if the process runs; a zombie does not. */
static bool runs(pid_t pid)
{
    char text[256] = "";
    FILE *f = fopen(arena_printf(a, "/proc/%d/stat", pid), "r");
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    const char *end = strrchr(text, ')');
    return end && end[1] && end[2] != 'Z' && end[2] != 'X';
}

/* Closes a model while its compiler, which executes `first`, works. */
static void close_early(const char *first)
{
    const char *path = in_dir("pid");
    attnc_model *m = opened("--backend=auto",
                            fake(arena_printf(a,
                                              "%s\necho $$ > %s.new\n"
                                              "mv %s.new %s\nexec sleep 300",
                                              first, path, path, path)));
    attnc_handle *h = handle_of(m);
    const pid_t compiler = pid_in(path);
    assert_true(is_right(h));
    assert_true(runs(compiler));
    attnc_handle_close(h);
    attnc_close(m);
    expect_no_child();
    assert_false(runs(compiler));
}

static void test_close_early(void **state)
{
    (void)state;
    close_early("");
}

static void test_close_stubborn(void **state)
{
    (void)state;
    close_early("trap '' TERM");
}

/* In a process that ignores SIGCHLD, the system reaps all children. */
static void test_close_no_sigchld(void **state)
{
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    close_early("trap '' TERM");
    signal(SIGCHLD, SIG_DFL);
}

static void test_failing(void **state)
{
    (void)state;
    attnc_model *m = opened("--backend=auto", fake("exit 3"));
    attnc_handle *h = handle_of(m);
    for (int ms = 0; m->e.backend.tier->waits && ms < MostMs; ms++) {
        assert_true(is_right(h));
        pause_ms(1);
    }
    assert_false(m->e.backend.tier->waits);
    expect_no_child(); /* also while the model is open */
    assert_true(is_right(h));
    attnc_handle_close(h);
    attnc_close(m);
}

/* Returns the option for a compiler whose object has another constant of the
 * softmax. */
static const char *wrong_compiler(void)
{
    Fault why;
    const char *text = in_dir("text.c");
    const char *body = arena_printf(a,
                                    "sed 's/0x1.3b2d4cp-7f/0x1.8p-2f/' > %s\n"
                                    "for word; do shift\n"
                                    "[ \"$word\" = - ] && word=%s\n"
                                    "set -- \"$@\" \"$word\"; done\n"
                                    "exec %s \"$@\"",
                                    text, text, cc_find(a, NULL, &why));
    return fake(body);
}

static char warning[1024]; /* the last one of expect_recorded() */

static void hear(void *user, const struct attnc_message *m)
{
    (void)user;
    if (m->severity == ATTNC_SEVERITY_WARNING)
        snprintf(warning, sizeof warning, "%s", m->text);
}

/* The next call with a function for messages receives the warning, once. */
static void expect_recorded(const char *cc)
{
    char *out = NULL;
    attnc_model *m = opened("--backend=auto", cc);
    assert_true(m->e.backend.tier->is_wrong);
    attnc_close(m);
    for (int i = 0; i < 2; i++) {
        warning[0] = '\0';
        assert_int_equal(attnc_report(&out, "graph", "w.yaml", encoder, NULL,
                                      hear, NULL),
                         ATTNC_DONE);
        attnc_free(out);
        if (i == 0)
            assert_non_null(strstr(warning, "it is kept in "));
        else
            assert_string_equal(warning, "");
    }
}

static void test_other_bits(void **state)
{
    (void)state;
    const char *cc = wrong_compiler();
    setenv("TMPDIR", dir, 1); /* receives the copy of the object */
    attnc_model *m = opened("--backend=auto", cc);
    call_from_all(m, true);
    for (int ms = 0; m->e.backend.tier->waits && ms < MostMs; ms++)
        call_from_all(m, true);
    attnc_close(m);
    unsetenv("TMPDIR");
    expect_no_child();
    expect_recorded(cc);
}

static TierGuard *guard; /* of the library */

/* Another thread compiles from the time when the object is loaded. */
static bool is_busy(void (*what)(void *tier), void *tier)
{
    const Tier *t = tier;
    return !t->bound[1] && !t->is_wrong && guard(what, tier);
}

/* attnc_close() records a refusal that no call could. */
static void test_record_at_close(void **state)
{
    (void)state;
    const char *cc = wrong_compiler();
    setenv("TMPDIR", dir, 1);
    attnc_model *m = opened("--backend=auto", cc);
    Tier *t = m->e.backend.tier;
    guard = t->guard;
    t->guard = is_busy;
    call_from_all(m, true);
    assert_non_null(t->refused);
    t->guard = guard;
    attnc_close(m);
    unsetenv("TMPDIR");
    expect_recorded(cc);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, prepare, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_threads),        TEST(test_fork),
        TEST(test_close_early),    TEST(test_failing),
        TEST(test_other_bits),     TEST(test_record_at_close),
        TEST(test_close_stubborn), TEST(test_close_no_sigchld),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
