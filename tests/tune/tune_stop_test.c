/* tune_stop_test.c: tests tunings that are interrupted or killed, and compilers
 * that fail: records stay complete, nothing is left behind. */
/* limit: 300 s */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <time.h>

#include "tune/tuner.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/fake_machine.h"

static int tune(const Environment *env, double budget, const char *backend)
{
    static const char *const sets[] = { "kind=encoder" };
    const TuneOptions o = { .budget = budget,
                            .format = TuneJson,
                            .records = in_dir("tune.txt"),
                            .work = { .lengths = "16", .beam = 1 },
                            .model = { .spec = "models/tiny.yaml",
                                       .sets = sets,
                                       .nsets = 1,
                                       .backend = backend,
                                       .threads = 1 } };
    FILE *out = fopen(in_dir("report.json"), "w");
    assert_non_null(out);
    const int code = env ? tune_on(env, &o, out) : tune_run(&o, out);
    fclose(out);
    return code;
}

/* Runs a silent tuning in a child process. */
static pid_t begin_tuning(double budget, const char *backend)
{
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        _exit(tune(NULL, budget, backend));
    }
    assert_true(pid > 0);
    return pid;
}

static void wait_ms(int ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}

static int ended(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Counts the lines of the records and checks that all are complete. */
static int check_records(void)
{
    Records r = { 0 };
    Fault why;
    assert_true(records_read(&r, a, in_dir("tune.txt"), &why));
    assert_int_equal(r.passed_over, 0);
    return r.at.n;
}

static int set_up_here(void **state)
{
    const int rc = set_up(state);
    setenv("TMPDIR", in_dir("tmp"), 1);
    mkdir(in_dir("tmp"), 0700);
    return rc;
}

static int tear_down_here(void **state)
{
    unsetenv("TMPDIR");
    return tear_down(state);
}

/* Interrupts at random moments: the tuning soon ends by the signal; records
 * stay, and the temporary folder is removed. */
static void test_interrupt(void **state)
{
    (void)state;
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    uint64_t seed = 4;
    int before = 0;
    for (int i = 0; i < 6; i++) {
        const pid_t pid = begin_tuning(20, i % 2 ? "jit" : "clang");
        wait_ms(100 + (int)(bench_random(&seed) % 600));
        assert_int_equal(kill(pid, signals[i % 3]), 0);
        const int status = ended(pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), signals[i % 3]);
        assert_int_equal(files(in_dir("tmp")), 0);
        const int now = check_records();
        assert_true(now >= before);
        before = now;
    }
}

/* Counts the folders of running or killed tunings. */
static int build_folders(void)
{
    DIR *d = opendir(in_dir("tmp"));
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strncmp(e->d_name, "attnc-tmp-", 10) == 0;
    closedir(d);
    return n;
}

/* Tests that the next run removes files of a killed one, but not a folder in
 * use. */
static void test_kill(void **state)
{
    (void)state;
    const pid_t pid = begin_tuning(20, "clang");
    for (int i = 0; i < 400 && build_folders() == 0; i++)
        wait_ms(10);
    kill(pid, SIGKILL);
    assert_true(WIFSIGNALED(ended(pid)));
    wait_ms(100); /* its children end with it */
    check_records();
    assert_int_equal(build_folders(), 1);
    Builder first = { 0 }, second = { 0 };
    Fault why;
    assert_true(builder_open(&first, &why));
    assert_int_equal(build_folders(), 1);
    assert_true(builder_open(&second, &why));
    assert_int_equal(build_folders(), 2);
    builder_close(&first);
    builder_close(&second);
    assert_int_equal(build_folders(), 0);
}

static int count_text(const char *path, const char *text)
{
    File f;
    Fault why;
    int n = 0;
    assert_true(file_read(&f, path, 1 << 24, &why));
    char *all = arena_strndup(a, (const char *)f.at, f.size);
    for (const char *at = all; (at = strstr(at, text)); at++)
        n++;
    file_close(&f);
    return n;
}

/* Tests that only the first compilation works: candidates fail one by one, and
 * are reported; tasks have no default to compare with. */
static void test_compilers(void **state)
{
    (void)state;
    Fault why;
    const char *clang = cc_find(a, NULL, &why);
    assert_non_null(clang);
    const char *cc = script(
        "cc",
        arena_printf(a,
                     "case \"$*\" in *--version*) exec %s --version;; esac\n"
                     "mkdir %s 2>/dev/null && exec %s \"$@\"\n"
                     "echo 'x.c:1: error: planted' >&2; exit 1",
                     clang, in_dir("first"), clang));
    fake_machine(); /* except its compilers */
    fake.compilers = true;
    /* Tests that it ends when all have failed, long before its time is over. */
    assert_int_equal(tune(&fake_environment, 1e5, cc), ExitDone);
    assert_true(fake.now < 1e4);
    assert_true(count_text(in_dir("report.json"), "\"failed\"") > 1);
    assert_true(count_text(in_dir("report.json"), "error: planted") > 1);
    assert_int_equal(files(in_dir("tmp")), 0);
    check_records();
    assert_int_equal(tune(NULL, 3, "./none"), ExitBackend);
    assert_int_equal(files(in_dir("tmp")), 0);
}

static void test_no_folder(void **state)
{
    (void)state;
    setenv("TMPDIR", in_dir("none"), 1);
    assert_int_equal(tune(NULL, 1, "clang"), ExitIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_interrupt, set_up_here,
                                        tear_down_here),
        cmocka_unit_test_setup_teardown(test_kill, set_up_here, tear_down_here),
        cmocka_unit_test_setup_teardown(test_compilers, set_up_here,
                                        tear_down_here),
        cmocka_unit_test_setup_teardown(test_no_folder, set_up_here,
                                        tear_down_here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
