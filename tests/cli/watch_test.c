/* watch_test.c: tests attnc watch with files that really change: the output
 * follows them, whatever the file and the run do. No test checks a duration;
 * output that does not come is waited for up to a minute. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/backend.h"

#include <cmocka.h>

#include "support/aot.h"
#include "support/overflow.h"
#include "support/terminal.h"

enum { PatientMs = 60000 };

static const char spec[] = "attnc: 1\n"
                           "name: small\n"
                           "kind: encoder-decoder\n"
                           "d_model: 8\n"
                           "h: %d\n"
                           "d_ff: 16\n"
                           "N: %d\n"
                           "max_len: 16\n"
                           "vocab: {size: 11, shared: true, tokens: {start: 1, "
                           "end: 2, pad: 0}}\n";

/* ---- a watch ---- */
typedef struct {
    pid_t pid;
    int out; /* stdout and stderr */
    char text[1 << 17];
    size_t n;
    const char *at; /* after the text that was found last */
} Watch;

static Watch w;

typedef struct {
    int number, error; /* a call that fails, with which errno; 0: none */
} Refusal;

/* The system's call fails from here on. */
static void refuse(Refusal r)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)r.number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)r.error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog all = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
        || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) != 0)
        _exit(77);
}

/* Starts attnc watch with these words; `lines`: its stdin. */
static void start_with(Refusal r, const char *lines, const char *const *words)
{
    const char *argv[20] = { attnc(), "watch" };
    int n = 2, ends[2];
    while (words[n - 2] && n < 19) {
        argv[n] = words[n - 2];
        n++;
    }
    w = (Watch){ .at = w.text };
    assert_int_equal(pipe(ends), 0);
    w.pid = fork();
    assert_true(w.pid >= 0);
    if (w.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int in = lines ? open(lines, O_RDONLY)
                             : open("/dev/null", O_RDONLY);
        dup2(in, 0);
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        if (r.error)
            refuse(r);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(ends[1]);
    w.out = ends[0];
}
#define START(...)                                                            \
    start_with((Refusal){ 0, 0 }, NULL,                                       \
               (const char *const[]){ __VA_ARGS__, NULL })
#define START_LINES(lines, ...)                                               \
    start_with((Refusal){ 0, 0 }, (lines),                                    \
               (const char *const[]){ __VA_ARGS__, NULL })

/* Returns the end of the output, which fits into a message. */
static const char *tail(void)
{
    return w.text + (w.n > 700 ? w.n - 700 : 0);
}

/* Reads available output; returns false at its end. */
static bool read_more(int ms)
{
    struct pollfd p = { .fd = w.out, .events = POLLIN };
    if (poll(&p, 1, ms) <= 0)
        fail_msg("nothing more came after:\n%s", tail());
    const ssize_t n = read(w.out, w.text + w.n, sizeof w.text - 1 - w.n);
    if (n <= 0)
        return false;
    w.n += (size_t)n;
    w.text[w.n] = '\0';
    assert_true(w.n < sizeof w.text - 1);
    return true;
}

/* Waits for a text after the last one. */
static void comes(const char *text)
{
    const char *found;
    while (!(found = strstr(w.at, text)))
        if (!read_more(PatientMs))
            fail_msg("ended without '%s':\n%s", text, tail());
    w.at = found + strlen(text);
}

/* True if it was printed after the text found before the last one. */
static void came_not(const char *from, const char *text)
{
    const char *found = strstr(from, text);
    if (found && found < w.at)
        fail_msg("'%s' came:\n%s", text, w.text);
}

/* Waits for its end; returns waitpid()'s status. */
static int status_of(void)
{
    int status;
    while (read_more(PatientMs))
        ;
    assert_int_equal(waitpid(w.pid, &status, 0), w.pid);
    close(w.out);
    return status;
}

static void stop(void)
{
    kill(w.pid, SIGINT);
    const int status = status_of();
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
}

/* ---- its files ---- */
static void save(const char *name, const char *text)
{
    FILE *f = fopen(in_dir(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static const char *with(int h, int layers)
{
    return arena_printf(a, spec, h, layers);
}

/* Saves as editors do: a new file replaces the old one. */
static void save_by_rename(const char *name, const char *text)
{
    save("new-file", text);
    assert_int_equal(rename(in_dir("new-file"), in_dir(name)), 0);
}

/* Waits for the end of a run, after which attnc waits. */
static void rests(void)
{
    comes("; waits for a change\n");
}

static void is_measured(void)
{
    comes("until ready");
    comes("-- ");
    comes(" done in ");
    rests();
}

/* ---- changes ---- */
static void test_shows_what_is_new(void **state)
{
    (void)state;
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"));
    comes("m.yaml\n");
    comes("\ncost ");
    comes("parameters           1,768");
    comes("time ");
    is_measured();
    save("m.yaml", with(4, 1));
    comes("m.yaml changed\nfield  before  now\nh           2    4\n");
    comes("self cache, bytes   41,344 "); /* as wide as the lines below */
    comes(" 74,112  1.79\n");
    const char *from = w.at;
    comes("graph\n26 nodes differ; before has 112, now 112\n");
    comes(" more\n"); /* only the first of them are shown */
    rests();
    came_not(from, "parameters"); /* unchanged facts */
    save("m.yaml", with(4, 1));
    comes("m.yaml changed\nthe same fields, graph, plan and cost\n");
    is_measured();
    save("m.yaml", with(4, 2));
    comes("pass, rewrites  before  now\n");
    comes("fuse-attention       3    6\n");
    comes("+ encoder.1: a layer of 35 nodes\n");
    stop();
}

static void test_an_error_shows(void **state)
{
    (void)state;
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"));
    is_measured();
    save("m.yaml", with(3, 1));
    comes("m.yaml:5:4: error: h (3) does not divide d_model (8)\n");
    comes("exit code 3 (invalid input); waits for a change\n");
    save("m.yaml", "kind: [enc"); /* half of one */
    comes("m.yaml changed\n");
    comes("error: ");
    comes("exit code 3 (invalid input); waits for a change\n");
    /* compared with the last successful run */
    save("m.yaml", with(4, 1));
    comes("h           2    4\n");
    stop();
}

static void test_saved_by_rename(void **state)
{
    (void)state;
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"));
    is_measured();
    for (int i = 0; i < 3; i++) {
        const char *from = w.at;
        save_by_rename("m.yaml", with(i % 2 ? 2 : 4, 1));
        comes("m.yaml changed\nfield ");
        is_measured();
        came_not(from, "No such file");
    }
    /* the old one aside, then a new one */
    assert_int_equal(rename(in_dir("m.yaml"), in_dir("m.yaml~")), 0);
    save("m.yaml", with(2, 1));
    comes("h           4    2\n");
    rests();
    /* changes of neighbouring files are ignored */
    const char *from = w.at;
    save("other.yaml", with(2, 1));
    save("m.yaml~", with(2, 1));
    save("m.yaml", with(4, 1));
    comes("h           2    4\n");
    came_not(from, "other.yaml");
    came_not(from, "m.yaml~");
    came_not(from, "the same");
    stop();
}

static void test_appears_and_goes(void **state)
{
    (void)state;
    START(in_dir("late/m.yaml"));
    comes("m.yaml: cannot open: No such file or directory\n");
    comes("exit code 4 (I/O); waits for a change\n");
    assert_int_equal(mkdir(in_dir("late"), 0700), 0);
    comes("exit code 4 (I/O); waits for a change\n");
    save("late/m.yaml", with(2, 1));
    comes("m.yaml changed\n");
    comes("\ncost ");
    is_measured();
    assert_int_equal(unlink(in_dir("late/m.yaml")), 0);
    comes("m.yaml is gone\n");
    comes("cannot open: No such file or directory\n");
    comes("exit code 4 (I/O); waits for a change\n");
    save("late/m.yaml", with(4, 1));
    comes("h           2    4\n");
    is_measured();
    /* the complete folder, too */
    assert_int_equal(rename(in_dir("late"), in_dir("away")), 0);
    comes("m.yaml is gone\n");
    comes("exit code 4 (I/O); waits for a change\n");
    assert_int_equal(rename(in_dir("away"), in_dir("late")), 0);
    comes("the same fields, graph, plan and cost\n");
    stop();
}

/* Without a vocabulary. */
static const char *base(int h)
{
    const char *all = with(h, 1);
    return arena_strndup(a, all, (size_t)(strstr(all, "vocab") - all));
}

static void test_files_that_it_reads(void **state)
{
    (void)state;
    save("base.yaml", base(2));
    save("words.txt", "<s>\n</s>\na\nb\n");
    save("m.yaml", "attnc: 1\nextends: base.yaml\nname: changed\n"
                   "vocab: {file: words.txt, shared: true, split: spaces, "
                   "tokens: {start: 0, end: 1}}\n");
    START(in_dir("m.yaml"));
    is_measured();
    save_by_rename("base.yaml", base(4));
    comes("base.yaml changed\nfield ");
    comes("h           2    4\n");
    is_measured();
    save("words.txt", "<s>\n</s>\na\nb\nc\n");
    comes("words.txt changed\nfield ");
    comes("vocab.size       4    5  (follows)\n");
    is_measured();
    /* an error in the other file, which is then gone */
    save("base.yaml", "attnc: 1\nkind: [enc\n");
    comes("base.yaml:");
    comes(": error: ");
    comes("waits for a change\n");
    assert_int_equal(unlink(in_dir("base.yaml")), 0);
    comes("base.yaml is gone\n");
    comes("waits for a change\n");
    save("base.yaml", base(2));
    comes("h           4    2\n");
    is_measured();
    /* a link to the spec, and its target */
    stop();
    assert_int_equal(symlink("m.yaml", in_dir("link.yaml")), 0);
    START(in_dir("link.yaml"));
    is_measured();
    save("m.yaml", "attnc: 1\nextends: base.yaml\nN: 2\n");
    comes("link.yaml changed\n");
    comes("vocab");
    rests();
    stop();
}

/* Tests invalid weights, then valid ones again. */
static void test_weights(void **state)
{
    (void)state;
    char *folder = realpath("models/g2p-en", NULL);
    assert_non_null(folder);
    const char *weights = arena_printf(a, "%s/g2p-en.safetensors", folder);
    save("m.yaml", arena_printf(a,
                                "attnc: 1\nextends: %s/g2p-en.yaml\n"
                                "weights: w.safetensors\n",
                                folder));
    assert_int_equal(symlink(weights, in_dir("w.safetensors")), 0);
    START(in_dir("m.yaml"), "-r", "1", "-n", "1");
    is_measured();
    save_by_rename("w.safetensors", "nothing");
    comes("w.safetensors changed\n");
    comes("w.safetensors: ");
    comes("exit code 3 (invalid input); waits for a change\n");
    assert_int_equal(symlink(weights, in_dir("next")), 0);
    assert_int_equal(rename(in_dir("next"), in_dir("w.safetensors")), 0);
    comes("the same fields, graph, plan and cost\n");
    is_measured();
    stop();
    free(folder);
}

/* ---- the run ---- */
static void test_run(void **state)
{
    (void)state;
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"), "run", "--ids", "--prompt", "3 4", "-n", "2",
          "--seed=1");
    comes("m.yaml\n");
    comes("parameters");
    comes("run ");
    rests();
    save("m.yaml", with(4, 1));
    comes("m.yaml changed\n");
    comes("h           2    4\n");
    comes("run ");
    rests();
    stop();
    /* each run answers the lines of stdin */
    save("lines", "3 4 5\n6 7\n");
    START_LINES(in_dir("lines"), in_dir("m.yaml"), "--", "run", "--ids",
                "--scores", "--max-output=1", "--seed=1");
    comes("parameters");
    char answers[200];
    const char *end = strstr(w.text, "\n\ncost "), *first = end;
    assert_non_null(end);
    for (int lines = 0; lines < 2 && first > w.text;)
        lines += *--first == '\n';
    snprintf(answers, sizeof answers, "%.*s", (int)(end - first), first);
    assert_non_null(strchr(answers, '\t')); /* two lines, with scores */
    comes("run ");
    rests();
    save("m.yaml", with(4, 1));
    comes("m.yaml changed");
    comes(answers);
    comes("run ");
    rests();
    /* a line that is now invalid: the others are answered */
    save("m.yaml", "attnc: 1\nname: m\nkind: encoder-decoder\nd_model: 8\n"
                   "h: 2\nd_ff: 16\nN: 1\nmax_len: 16\n"
                   "vocab: {size: 6, tokens: {start: 1, end: 2, pad: 0}}\n");
    comes("<stdin>:2: error: ");
    comes("vocab");
    comes("exit code 3 (invalid input); waits for a change\n");
    stop();
}

/* Returns the process of the run, if /proc shows it. */
static pid_t child_of(pid_t parent)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)parent,
             (int)parent);
    FILE *f = fopen(path, "r");
    const bool read = f && fscanf(f, "%d", &child) == 1;
    if (f)
        fclose(f);
    return read ? child : 0;
}

/* Starts a run that never ends: 20,000 times a long one. */
static void start_long(void)
{
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"), "bench", "-r", "20000", "-b", "2000", "-p", "16");
    comes("m.yaml\n");
    for (int i = 0; i < PatientMs && !child_of(w.pid); i++)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* Tests that a changed file ends the current run. */
static void test_starts_anew(void **state)
{
    (void)state;
    start_long();
    for (int i = 0; i < 3; i++) {
        const pid_t before = child_of(w.pid);
        save_by_rename("m.yaml", with(i % 2 ? 2 : 4, 1));
        comes("m.yaml changed\n");
        if (!before)
            continue; /* not known on this system */
        assert_int_equal(kill(before, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    save("m.yaml", with(3, 1));
    comes("exit code 3 (invalid input); waits for a change\n");
    stop();
}

static void test_crash(void **state)
{
    (void)state;
    start_long();
    const pid_t child = child_of(w.pid);
    if (!child) {
        stop();
        print_message("skip: /proc has no list of children\n");
        skip();
    }
    kill(child, SIGKILL);
    comes("ended by signal 9 (Killed); waits for a change\n");
    save("m.yaml", with(3, 1));
    comes("exit code 3 (invalid input); waits for a change\n");
    stop();
}

/* Tests Ctrl-C during a run: both processes end, and no file is left. */
static void test_ctrl_c(void **state)
{
    (void)state;
    int other, status;
    char text[4096] = "";
    size_t n = 0;
    save("m.yaml", with(2, 1));
    const int end = terminal_open(80, &other);
    if (end < 0) {
        print_message("skip: this system gives no terminal\n");
        skip();
    }
    const char *m = in_dir("m.yaml");
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        setsid();
        ioctl(other, TIOCSCTTY, 0);
        for (int i = 0; i < 3; i++)
            dup2(other, i);
        close(end);
        close(other);
        execl(attnc(), "attnc", "watch", m, "-r", "20000", "-b", "2000", NULL);
        _exit(127);
    }
    close(other);
    while (!strstr(text, "m.yaml")) {
        const ssize_t more = read(end, text + n, sizeof text - 1 - n);
        assert_true(more > 0);
        n += (size_t)more;
        text[n] = '\0';
    }
    pid_t child = 0;
    for (int i = 0; i < 2000 && !child; i++) {
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
        child = child_of(pid);
    }
    assert_int_equal(write(end, "\003", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    if (child)
        assert_int_equal(kill(child, 0), -1);
    close(end);
}

/* ---- limits ---- */
/* Tests more changes of a stopped watch than the system's queue holds. */
static void test_overflow(void **state)
{
    (void)state;
    save("m.yaml", with(2, 1));
    START(in_dir("m.yaml"));
    is_measured();
    kill(w.pid, SIGSTOP);
    const bool all = overflow(in_dir("noise"));
    save("m.yaml", with(4, 1));
    kill(w.pid, SIGCONT);
    if (all)
        comes("m.yaml changed\nfield  before  now\nh           2    4\n");
    stop();
}

static void refused(int number, int error, int code, const char *text)
{
    save("m.yaml", with(2, 1));
    start_with((Refusal){ number, error }, NULL,
               (const char *const[]){ in_dir("m.yaml"), NULL });
    const int status = status_of();
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("skip: this system lets no filter of calls in\n");
        skip();
    }
    if (WEXITSTATUS(status) != code || !strstr(w.text, text))
        fail_msg("exit code %d:\n%s", WEXITSTATUS(status), w.text);
}

static void test_limits(void **state)
{
    (void)state;
    refused(SYS_inotify_init1, EMFILE, 5,
            "attnc: error: no more instances of inotify for this user: raise "
            "the limit, which is ");
    assert_non_null(strstr(w.text, "sysctl fs.inotify.max_user_instances=N"));
    refused(SYS_inotify_add_watch, ENOSPC, 5,
            "attnc: error: no more watches of inotify for this user: raise the "
            "limit, which is ");
    assert_non_null(strstr(w.text, "sysctl fs.inotify.max_user_watches=N"));
    refused(SYS_inotify_init1, ENOSYS, 4,
            "attnc: error: inotify: changes of files can't be watched here: ");
}

#define TEST(name)                                                            \
    cmocka_unit_test_setup_teardown(name, set_up_sharing, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_shows_what_is_new),
        TEST(test_an_error_shows),
        TEST(test_saved_by_rename),
        TEST(test_appears_and_goes),
        TEST(test_files_that_it_reads),
        TEST(test_weights),
        TEST(test_run),
        TEST(test_starts_anew),
        TEST(test_crash),
        TEST(test_ctrl_c),
        TEST(test_overflow),
        TEST(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
