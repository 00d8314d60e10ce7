/* kill_test.c: kills (SIGKILL) or interrupts (SIGINT) each command of attnc at
 * random moments. Afterwards each file is complete, unchanged or absent;
 * records stay; no process continues; and temporary directories are removed, at
 * the latest by the next run. ATTNC_KILLS sets the number of kills, ATTNC_SEED
 * the moments. Also, 20 processes that tune, merge and run at once lose no
 * record. */
/* limit: 900 s */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/backend.h"
#include "records/records.h"

#include <cmocka.h>

#include "support/scratch.h"
#include "support/records_case.h"
#include "support/aot.h"

#define SMALL "tests/cli/small.yaml"
#define GOLDEN "tests/torch/rotary.yaml"
enum { MostWords = 12, MostOutputs = 3, Limit = 120 };

typedef struct {
    const char *words[MostWords]; /* "@m.c": that file among the outputs */
    const char *out[MostOutputs];
    bool differs; /* two runs write different bytes */
} Case;

static const Case cases[] = {
    { { "compile", GOLDEN, "--march=x86-64-v3", "-o", "@m.c" },
      { "m.c", "m.h", "m.weights" },
      false },
    { { "compile", GOLDEN, "--embed", "--emit=so,obj", "-O0", "-o", "@m" },
      { "m.so", "m.o" },
      false },
    { { "run", SMALL, "--ids" }, { NULL }, false },
    { { "run", SMALL, "--ids", "--backend=clang", "-O0" }, { NULL }, false },
    { { "run", GOLDEN, "--ids", "--prompt=1 2", "-n", "3", "--save-state",
        "@m" },
      { "m" },
      false },
    { { "run", SMALL, "--ids", "--attention", "@m.svg" }, { "m.svg" }, false },
    { { "score", SMALL, "--ids" }, { NULL }, false },
    { { "graph", SMALL, "-o", "@m" }, { "m" }, false },
    { { "plan", SMALL, "--march=x86-64-v3", "-o", "@m" }, { "m" }, false },
    { { "tensors", GOLDEN }, { NULL }, false },
    { { "verify", SMALL, "--cases=1", "--rows=3", "-O0" }, { NULL }, false },
    { { "bench", SMALL, "-p", "3", "-n", "2", "-r", "1", "--no-kernels",
        "--svg", "@m.svg" },
      { "m.svg" },
      true },
    { { "tune", SMALL, "--budget=2s", "--backend=jit", "-p", "3", "-n", "2",
        "--records", "@tune.txt" },
      { "tune.txt" },
      true },
    { { "records", "merge", "@other.txt", "--records", "@tune.txt" },
      { "tune.txt" },
      true },
};
enum { Cases = sizeof cases / sizeof *cases };

static int64_t setting(const char *name, int64_t usual)
{
    const char *text = getenv(name);
    return text && *text ? atoll(text) : usual;
}

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

static void wait_us(int64_t us)
{
    nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

static const char *output(const char *name)
{
    return arena_printf(a, "%s/out/%s", dir, name);
}

/* ---- a process ---- */
static void child(char *const *argv)
{
    dup2(open("/dev/null", O_WRONLY), 1);
    dup2(open(in_dir("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    dup2(open(in_dir("stdin"), O_RDONLY), 0);
    signal(SIGINT, SIG_DFL);
    execv(argv[0], argv);
    _exit(99);
}

static pid_t begin(const Case *c)
{
    char *argv[MostWords + 1];
    argv[0] = (char *)(uintptr_t)find_program(a, attnc());
    argv[MostWords] = NULL;
    assert_non_null(argv[0]);
    for (int i = 0; i < MostWords - 1; i++)
        argv[i + 1] = !c->words[i] ? NULL
                    : c->words[i][0] == '@'
                        ? (char *)(uintptr_t)output(c->words[i] + 1)
                        : arena_strdup(a, c->words[i]);
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child(argv);
    return pid;
}

static int ended(pid_t pid)
{
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void whole_run(const Case *c)
{
    const int status = ended(begin(c));
    size_t n;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("attnc %s: status %x: %s", c->words[0], (unsigned)status,
                 text_of(in_dir("stderr"), &n));
}

/* Waits until the processes that the killed one had started end. */
static void all_end(const char *command)
{
    for (int64_t ms = 0; waitpid(-1, NULL, WNOHANG) >= 0; ms++) {
        if (ms > Limit * 1000)
            fail_msg("attnc %s: a process that it started goes on", command);
        wait_us(1000);
    }
}

/* ---- outputs ---- */
typedef struct {
    const char *text;
    size_t n;
} Bytes;

static Bytes bytes_of(const char *name)
{
    Bytes b = { .text = NULL };
    if (access(output(name), F_OK) == 0)
        b.text = text_of(output(name), &b.n);
    return b;
}

static void remove_outputs(const Case *c)
{
    for (int i = 0; i < MostOutputs && c->out[i]; i++)
        unlink(output(c->out[i]));
}

/* Removes unfinished temporary files; returns their number. */
static int unfinished(void)
{
    DIR *d = opendir(in_dir("out"));
    int n = 0;
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (strstr(e->d_name, ".tmp.")) {
            unlink(output(e->d_name));
            n++;
        }
    closedir(d);
    return n;
}

static void check_records(const char *path, int least)
{
    const Records r = read_records(a, path);
    assert_int_equal(r.passed_over, 0);
    assert_true(r.at.n >= least);
}

static void check_outputs(const Case *c, const Bytes whole[MostOutputs])
{
    for (int i = 0; i < MostOutputs && c->out[i]; i++) {
        const Bytes b = bytes_of(c->out[i]);
        if (!b.text || c->differs)
            continue;
        if (b.n != whole[i].n || memcmp(b.text, whole[i].text, b.n))
            fail_msg("attnc %s: %s is not whole", c->words[0], c->out[i]);
    }
    const Bytes svg = bytes_of("m.svg");
    if (svg.text)
        assert_non_null(strstr(svg.text, "</svg>"));
    if (access(output("tune.txt"), F_OK) == 0)
        check_records(output("tune.txt"), 0);
}

/* ---- kills ---- */

/* Removes objects of earlier runs, which would make the next ones too short. */
static void new_cache(void)
{
    static int n;
    setenv("XDG_CACHE_HOME", in_dir(arena_printf(a, "cache%d", n++)), 1);
}

/* Kills a run within `us`, its usual time. Returns true if it was still
 * running. */
static bool kill_once(const Case *c, int64_t us, const Bytes *whole)
{
    const bool hard = draw(2);
    TempFolder next;
    const pid_t pid = begin(c);
    wait_us((int64_t)draw((uint64_t)us));
    kill(pid, hard ? SIGKILL : SIGINT);
    const int status = ended(pid);
    all_end(c->words[0]);
    const bool killed = WIFSIGNALED(status);
    if (killed)
        assert_int_equal(WTERMSIG(status), hard ? SIGKILL : SIGINT);
    else
        assert_int_equal(WEXITSTATUS(status), 0);
    check_outputs(c, whole);
    const int left = unfinished();
    if (!hard && (left || files(in_dir("tmp"))))
        fail_msg("attnc %s: SIGINT leaves a file", c->words[0]);
    assert_true(temp_open(&next, NULL));
    temp_close(&next);
    assert_int_equal(files(in_dir("tmp")), 0);
    return killed;
}

/* Returns the microseconds of a complete run. On a busy machine a tuning may
 * find nothing to write; then it is repeated. */
static int64_t run_whole(const Case *c)
{
    double from;
    for (int i = 0; i < 10; i++) {
        from = seconds();
        whole_run(c);
        if (!c->differs || bytes_of(c->out[0]).text)
            break;
    }
    return (int64_t)((seconds() - from) * 1e6) + 1000;
}

static int kill_case(const Case *c, int times)
{
    Bytes whole[MostOutputs];
    int killed = 0;
    new_cache();
    const int64_t us = run_whole(c);
    for (int i = 0; i < MostOutputs && c->out[i]; i++) {
        whole[i] = bytes_of(c->out[i]);
        assert_non_null(whole[i].text);
    }
    for (int i = 0; i < times; i++) {
        if (draw(2)) /* with or without an existing file */
            remove_outputs(c);
        new_cache();
        killed += kill_once(c, us, whole);
    }
    whole_run(c);
    check_outputs(c, whole);
    remove_outputs(c);
    assert_int_equal(files(in_dir("tmp")), 0);
    return killed;
}

static void test_kills(void **state)
{
    (void)state;
    const int times = (int)setting("ATTNC_KILLS", 2 * Cases);
    int killed = 0;
    random_state = (uint64_t)setting("ATTNC_SEED", 1);
    for (int i = 0; i < Cases; i++) {
        const int n = (times + i) / Cases, k = kill_case(&cases[i], n);
        if (times > 2 * Cases)
            printf("# attnc %s %s: killed in %d of %d runs\n",
                   cases[i].words[0], cases[i].words[1], k, n);
        killed += k;
    }
    assert_true(killed > 0);
}

/* ---- many at once ---- */
enum { Processes = 20, Each = 10 };

/* Records of their own for each process that merges. */
static const char *to_merge(int process)
{
    Record r[Each];
    const char *path = output(arena_printf(a, "other%d.txt", process));
    for (int i = 0; i < Each; i++)
        r[i] = product(a, 16 * (process + 1), 16 * (i + 1));
    add(a, path, r, Each);
    return path;
}

static pid_t begin_one(int process)
{
    Case tunes = cases[Cases - 2], runs = cases[2];
    Case merges = { { "records", "merge", NULL, "--records", "@tune.txt" },
                    { NULL },
                    false };
    if (process % 3 == 0) {
        tunes.words[1] = process % 2 ? SMALL : GOLDEN;
        return begin(&tunes);
    }
    if (process % 3 == 1) {
        runs.words[3] = "--records";
        runs.words[4] = "@tune.txt";
        return begin(&runs);
    }
    merges.words[2] = to_merge(process);
    return begin(&merges);
}

static void test_many_at_once(void **state)
{
    (void)state;
    pid_t pid[Processes];
    const Record first = product(a, 8, 8);
    add(a, output("tune.txt"), &first, 1);
    for (int i = 0; i < Processes; i++)
        pid[i] = begin_one(i);
    for (int i = 0; i < Processes; i++) {
        const int status = ended(pid[i]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("process %d: status %x", i, (unsigned)status);
    }
    const Records r = read_records(a, output("tune.txt"));
    assert_int_equal(r.passed_over, 0);
    assert_non_null(records_find(&r, &first));
    for (int i = 2; i < Processes; i += 3)
        for (int k = 0; k < Each; k++) {
            const Record sought = product(a, 16 * (i + 1), 16 * (k + 1));
            assert_non_null(records_find(&r, &sought));
        }
    assert_int_equal(unfinished(), 0);
    assert_int_equal(files(in_dir("tmp")), 0);
}

static int set_up_here(void **state)
{
    const int rc = set_up(state);
    static const char *const folders[] = { "tmp", "out" };
    for (int i = 0; i < 2; i++)
        mkdir(in_dir(folders[i]), 0700);
    FILE *in = fopen(in_dir("stdin"), "w");
    fputs("3 4 5\t6 7\n", in);
    fclose(in);
    const Record r = product(a, 64, 64);
    add(a, output("other.txt"), &r, 1);
    setenv("TMPDIR", in_dir("tmp"), 1);
    new_cache();
    return rc;
}

static int tear_down_here(void **state)
{
    unsetenv("TMPDIR");
    return tear_down(state);
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up_here, tear_down_here)
    const struct CMUnitTest tests[] = {
        TEST(test_kills),
        TEST(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
