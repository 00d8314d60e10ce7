/* spawn_test.c: tests C compilers that fail in every way, their environment,
 * odd file names, Ctrl-C, and attnc with an output that nobody can read. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/fake_programs.h"
#include "support/skip.h"

static const char unit[] = "int seven(void); int seven(void) { return 7; }\n";

static bool compile(const CcOptions *o, const char *name, Fault *why)
{
    return cc_compile(a, o, CcObject, (CText){ unit, strlen(unit) },
                      in_dir(name), why);
}

/* ---- compilers ---- */
static void test_failing_compilers(void **state)
{
    (void)state;
    static const struct {
        const char *body, *says;
    } fails[] = {
        { "echo broken >&2; exit 1", "failed with exit code 1" },
        { "kill -11 $$", "was killed by signal 11" },
        { "exit 0", "ended well but wrote nothing" },
        { "while [ $1 != -o ]; do shift; done; echo x > \"$2\"; exit 2",
          "failed with exit code 2" },
        { "cat > /dev/null; sleep 100", "ran longer than 1 s" },
    };
    for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
        Fault why;
        CcOptions o = options(script("fake", fails[i].body));
        o.seconds = 1;
        assert_false(compile(&o, "out.o", &why));
        assert_int_equal(why.code, ExitBackend);
        assert_non_null(strstr(why.text, fails[i].says));
        assert_int_equal(files(dir), 1); /* the script alone */
    }
}

static void test_no_compiler(void **state)
{
    (void)state;
    Fault why;
    setenv("PATH", dir, 1);
    assert_null(cc_find(a, NULL, &why));
    assert_int_equal(why.code, ExitBackend);
    assert_non_null(strstr(why.text, "install"));
    assert_null(cc_find(a, "./none", &why));
    script("clang-14", "echo version 14");
    assert_string_equal(cc_find(a, NULL, &why), in_dir("clang-14"));
    script("clang-19", "echo version 19");
    assert_string_equal(cc_find(a, NULL, &why), in_dir("clang-19"));
    assert_string_equal(cc_version(a, in_dir("clang-19"), &why), "version 19");
}

static void test_environment(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    const char *argv[] = { "/usr/bin/env", NULL };
    setenv("CCC_OVERRIDE_OPTIONS", "# +-DPWN", 1);
    setenv("LANG", "de_DE.UTF-8", 1);
    assert_true(spawn(&s, argv, "", 0, 20, &why));
    unsetenv("CCC_OVERRIDE_OPTIONS");
    assert_null(strstr(s.out, "CCC"));
    assert_non_null(strstr(s.out, "LANG=C\n"));
    for (const char *line = s.out; *line; line = strchr(line, '\n') + 1)
        assert_true(strncmp(line, "PATH=", 5) == 0
                    || strncmp(line, "HOME=", 5) == 0
                    || strncmp(line, "TMPDIR=", 7) == 0
                    || strncmp(line, "LANG=", 5) == 0);
}

static void test_odd_names(void **state)
{
    (void)state;
    static const char *const names[] = { "a b.o",  "a;id.o", "$(id).o",
                                         "`id`.o", "-DX.o",  "@x.o",
                                         "a\nb.o", "'\".o",  "\xc3\xa4.o" };
    Fault why;
    CcOptions o = options(cc_find(a, NULL, &why));
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(cc_compile(a, &o, CcObject, (CText){ unit, strlen(unit) },
                               names[i], &why));
        assert_int_equal(access(in_dir(names[i]), R_OK), 0);
        assert_int_equal(files(dir), (int)i + 1);
    }
    assert_int_equal(chdir(here), 0);
}

static void test_long_output_of_compiler(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    const char *argv[] = {
        script("loud", "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; "
                       "echo out $i; i=$((i+1)); done; exit 3"),
        NULL
    };
    assert_false(spawn(&s, argv, "", 0, 20, &why));
    assert_non_null(strstr(s.tail, "line 1999\n"));
    assert_int_equal(strncmp(s.out, "out 0\n", 6), 0);
    assert_non_null(strstr(why.text, "exit code 3"));
}

/* Returns the process id that a fake compiler wrote into the file "pid". */
static pid_t said_pid(void)
{
    File f;
    Fault why;
    assert_true(file_read(&f, in_dir("pid"), 100, &why));
    const pid_t pid = (pid_t)atoi((const char *)f.at);
    file_close(&f);
    return pid;
}

/* Interrupts a compiler with this body once it runs: it ends, and neither it
 * nor attnc leaves a file. */
static void interrupt(const char *body)
{
    const char *fake =
        script("slow", arena_printf(a,
                                    "touch $TMPDIR/left; echo $$ > %s/pid.new; "
                                    "mv %s/pid.new %s/pid; %s",
                                    dir, dir, dir, body));
    pid_t pid = fork();
    if (pid == 0) {
        Fault why;
        CcOptions o = options(fake);
        o.seconds = 100;
        files_on_signal();
        compile(&o, "out.o", &why);
        _exit(99);
    }
    while (access(in_dir("pid"), R_OK) != 0)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    File f;
    Fault why;
    int status;
    kill(pid, SIGINT);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    const pid_t compiler = said_pid();
    /* killed; init, or whoever adopts it, still has to reap it */
    char stat_path[64];
    snprintf(stat_path, sizeof stat_path, "/proc/%d/stat", (int)compiler);
    for (;;) {
        if (!file_read(&f, stat_path, 4096, &why))
            break;
        bool zombie = strstr((const char *)f.at, ") Z ") != NULL;
        file_close(&f);
        if (zombie)
            break;
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    }
    assert_int_equal(files(dir), 2); /* slow, pid */
    assert_int_equal(unlink(in_dir("pid")), 0);
}

static void test_interrupt(void **state)
{
    (void)state;
    setenv("TMPDIR", dir, 1);
    interrupt("exec sleep 1000");
    interrupt(arena_printf(a,
                           "trap 'rm %s/a.o; exit 1' TERM; touch %s/a.o; "
                           "sleep 1000 & wait",
                           dir, dir));
    interrupt("trap '' TERM; while :; do sleep 1; done");
    interrupt("while :; do echo warning >&2; done");
    unsetenv("TMPDIR");
}

/* Makes directories and removes them. Returns the number of those that were
 * gone before. */
static void *make_folders(void *unused)
{
    enum { Rounds = 500 };
    intptr_t gone = 0;
    (void)unused;
    for (int i = 0; i < Rounds; i++) {
        TempFolder t;
        gone += !temp_open(&t, NULL) || access(t.path, W_OK) != 0;
        temp_close(&t);
    }
    return (void *)gone;
}

static void test_folders_at_once(void **state)
{
    (void)state;
    enum { Threads = 8 };
    pthread_t thread[Threads];
    setenv("TMPDIR", dir, 1);
    for (int i = 0; i < Threads; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, make_folders, NULL),
                         0);
    for (int i = 0; i < Threads; i++) {
        void *gone;
        pthread_join(thread[i], &gone);
        assert_null(gone);
    }
    assert_int_equal(files(dir), 0);
    unsetenv("TMPDIR");
}

/* Tests that the folder of a process killed while compiling is removed by the
 * next process that makes one. Folders in use, and files that are not attnc's,
 * stay. */
static void test_killed(void **state)
{
    (void)state;
    setenv("TMPDIR", dir, 1);
    const char *fake = script(
        "slow",
        arena_printf(
            a,
            "touch $TMPDIR/left; echo $$ > %s/pid.new; mv %s/pid.new %s/pid; "
            "exec sleep 1000",
            dir, dir, dir));
    pid_t pid = fork();
    if (pid == 0) {
        Fault why;
        CcOptions o = options(fake);
        compile(&o, "out.o", &why);
        _exit(99);
    }
    while (access(in_dir("pid"), R_OK) != 0)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    TempFolder used, first, second;
    assert_true(temp_open(&used, NULL));
    assert_int_equal(files(dir), 5); /* slow, pid, out.o's, two folders */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    kill(said_pid(), SIGKILL);
    assert_true(temp_open(&first, NULL));
    assert_int_equal(files(dir), 5); /* first in place of the killed one */
    assert_int_equal(access(used.path, R_OK), 0);
    temp_close(&first);
    mkdir(in_dir("attnc-tmp-nobody"), 0700); /* killed before its lock */
    mkdir(in_dir("attnc-other"), 0700);
    assert_true(temp_open(&second, NULL));
    assert_int_equal(access(in_dir("attnc-tmp-nobody"), R_OK), -1);
    assert_int_equal(access(in_dir("attnc-other"), R_OK), 0);
    temp_close(&second);
    temp_close(&used);
    unsetenv("TMPDIR");
}

/* Tests that a limit on file sizes is reported as one of the disk. */
static void test_file_limit(void **state)
{
    (void)state;
    struct rlimit old, limit;
    Fault why;
    CcOptions o = options(cc_find(a, NULL, &why));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    limit = old;
    limit.rlim_cur = 10;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const bool done = compile(&o, "out.o", &why);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_false(done);
    assert_int_equal(why.code, ExitIO);
    assert_non_null(strstr(why.text, "File too large"));
    assert_int_equal(files(dir), 0);
}

/* ---- the program ---- */
static int attnc(Spawned *s, int out, const char *const *words)
{
    const char *argv[16] = { find_program(a, getenv("ATTNC") ? getenv("ATTNC")
                                                             : "build/attnc") };
    SpawnJob job = { .argv = argv, .input = "3 4 5\n", .input_bytes = 6 };
    int n = 1;
    while (*words)
        argv[n++] = *words++;
    argv[n] = NULL;
    assert_non_null(argv[0]);
    spawn_all(&job, 1,
              &(SpawnLimits){ .at_once = 1, .seconds = 60, .out_fd = out });
    *s = job.messages;
    if (job.ok)
        return 0;
    const char *code = strstr(job.why.text, "exit code ");
    assert_non_null(code);
    return atoi(code + strlen("exit code "));
}

static void test_print_commands(void **state)
{
    (void)state;
    Spawned s;
    const char *words[] = { "compile",
                            "tests/cli/small.yaml",
                            "-###",
                            "--cc",
                            script("my cc", "exit 1"),
                            "--emit=so,exe",
                            "-O3",
                            "--march=x86-64-v3",
                            "-o",
                            in_dir("m"),
                            NULL };
    assert_int_equal(attnc(&s, -1, words), 0);
    assert_non_null(strstr(s.tail, "\"-O3\" \"-std=c11\""));
    assert_non_null(strstr(s.tail, "my cc\""));
    assert_non_null(strstr(s.tail, "\"-march=x86-64-v3\" \"-fPIC\""));
    assert_non_null(strstr(s.tail, "\"-DATTNC_MAIN\""));
    assert_int_equal(files(dir), 1);
}

static void test_full_stdout(void **state)
{
    (void)state;
    Spawned s;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        SKIP("this system has no /dev/full");
    static const char *const calls[][5] = {
        { "run", "--ids", "tests/cli/small.yaml", NULL },
        { "plan", "tests/cli/small.yaml", NULL },
        { "compile", "tests/cli/small.yaml", "-o", "-", NULL },
        { "help", NULL },
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        assert_int_equal(attnc(&s, full, calls[i]), ExitIO);
        assert_non_null(strstr(s.tail, "cannot write to stdout"));
    }
    close(full);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_failing_compilers),
        TEST(test_no_compiler),
        TEST(test_environment),
        TEST(test_odd_names),
        TEST(test_long_output_of_compiler),
        TEST(test_interrupt),
        TEST(test_folders_at_once),
        TEST(test_killed),
        TEST(test_file_limit),
        TEST(test_print_commands),
        TEST(test_full_stdout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
