/* watch_child.c: a single run of attnc watch, in a child process, so that an
 * error in the spec, a crash or a signal does not end the watch. The child
 * reports the files that it reads, and writes the facts with which the next run
 * is compared. */
#define _GNU_SOURCE /* memfd_create, pipe2, prctl */
#include "cli/command/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/table.h"
#include "base/user_dir.h"
#include "bench/bench.h"

enum { GraphLines = 8, PatientMs = 1000 };

/* ---- files ---- */
FileState file_state(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return (FileState){ 0 };
    return (FileState){ (int64_t)st.st_dev, (int64_t)st.st_ino, st.st_size,
                        st.st_mtim.tv_sec, st.st_mtim.tv_nsec };
}

bool same_state(const FileState *a, const FileState *b)
{
    return a->device == b->device && a->inode == b->inode && a->size == b->size
        && a->seconds == b->seconds && a->nanoseconds == b->nanoseconds;
}

/* State of the child. It is global because the callback of files_on_read() has
 * no user argument. */
static struct {
    int notes;
    const Options *run;
    Arena *arena;
} child;

static bool is_path(const char *a, const char *b)
{
    return a && strcmp(a, b) == 0;
}

/* Reports that a file was read, except files that the run itself writes,
 * because their changes must not trigger another run. */
static void report_read(const char *path)
{
    const Options *run = child.run;
    struct {
        FileNote note;
        char path[PATH_MAX];
    } m = { .note = { file_state(path), (int64_t)strlen(path) } };
    const bool own = run
                  && (is_path(run->output, path)
                      || is_path(run->attention, path)
                      || is_path(run->save_state, path));
    if (own || m.note.bytes >= PATH_MAX || user_dir_has(child.arena, path))
        return;
    memcpy(m.path, path, (size_t)m.note.bytes);
    /* atomic, because it is at most PIPE_BUF bytes */
    if (write(child.notes, &m, sizeof m.note + (size_t)m.note.bytes) < 0)
        return; /* the parent has ended */
}

/* ---- runs ---- */
static PassRecord *new_record(Arena *a)
{
    return arena_alloc(a, (size_t)n_passes * sizeof(PassRecord));
}

/* Measures each workload and adds its time. Measures the parts of a search in
 * sequence. */
static void add_times(Facts *to, const Engine *e, const BenchOptions *o)
{
    Works works = { 0 };
    Setup *s = setup_new(e, o);
    setup_works(s, &works);
    Times *times = arena_alloc(to->arena,
                               (size_t)(works.n + 1) * sizeof *times);
    bench_workloads(s, &works, times);
    for (int i = 0; i < works.n; i++) {
        const Summary t = times_summary(&times[i]);
        facts_time(to, works.at[i].name, t.p50, t.low, t.high);
    }
}

static int run_bench(Facts *to, const Options *o)
{
    Engine e = { 0 };
    EngineOptions options = engine_options(CmdBench, &o->model, &o->code);
    options.passes.record = new_record(to->arena);
    const double begin = seconds_now();
    const int code = engine_open(&e, &options);
    const double ready = seconds_now() - begin;
    if (!code) {
        facts_of(to, &e, options.passes.record);
        add_times(to, &e, &o->bench);
        facts_time(to, "until ready", ready, ready, ready);
    }
    engine_close(&e);
    return code;
}

/* First plans the model without messages, because the run itself reports the
 * errors. */
static int run_run(Facts *to, const Options *o)
{
    Engine e = { 0 };
    EngineOptions options = run_engine_options(o);
    options.passes.record = new_record(to->arena);
    messages_mute(true);
    const int planned = engine_plan(&e, &options);
    messages_mute(false);
    if (!planned)
        facts_of(to, &e, options.passes.record);
    engine_close(&e);
    const double begin = seconds_now();
    const int code = cmd_run(o);
    const double took = seconds_now() - begin;
    if (!code && !planned)
        facts_time(to, "run", took, took, took);
    return code;
}

/* Prints all costs after the first run, and changes after later runs. */
static void show_run(const Facts *before, const Facts *now, bool answers)
{
    const bool first = before->at.n == 0;
    Difference d = { .arena = now->arena };
    const DifferenceStyle style = { .a = first ? NULL : "before",
                                    .b = "now",
                                    .changed = !first,
                                    .lines = GraphLines,
                                    .room = table_room(stdout) };
    facts_differ(&d, first ? now : before, now);
    if (answers)
        puts("");
    if (d.same && !first)
        puts("the same fields, graph, plan and cost");
    if (d.same && !first && d.of[FactTime].n)
        puts("");
    difference_print(&d, &style, stdout);
}

static _Noreturn void run_child(const Watched *w, const Facts *before,
                                int notes, FILE *left)
{
    Facts now = { .arena = arena_new() };
    child.notes = notes;
    child.run = w->run;
    child.arena = now.arena;
    files_on_read(report_read);
    if (before->at.n)
        notes_off();
    const int code = w->run ? run_run(&now, w->run)
                            : run_bench(&now, &w->bench);
    if (now.at.n) {
        show_run(before, &now, w->run != NULL);
        if (!facts_write(&now, left))
            fail(ExitResource, "out of memory");
    }
    fflush(stdout);
    exit(code);
}

/* ---- process ---- */
static _Noreturn void no_child(void)
{
    fail(ExitResource, "watch: no child process: %s", strerror(errno));
}

/* Makes the child end with its parent, handle signals like a normal run, and
 * read lines from the start of their file. */
static void follow_parent(const Watched *w, pid_t parent)
{
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(ExitInternal);
    interrupt_end();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    const int in = w->lines >= 0 ? w->lines : open("/dev/null", O_RDONLY);
    lseek(in, 0, SEEK_SET);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0)
        no_child();
}

WatchChild watch_start(const Watched *w, const Facts *before)
{
    int ends[2];
    const pid_t parent = getpid();
    const int fd = memfd_create("attnc", MFD_CLOEXEC);
    WatchChild c = { .left = fd < 0 ? NULL : fdopen(fd, "w+") };
    if (!c.left || pipe2(ends, O_CLOEXEC) != 0)
        no_child();
    fflush(NULL);
    c.pid = fork();
    if (c.pid < 0)
        no_child();
    if (c.pid == 0) {
        close(ends[0]);
        follow_parent(w, parent);
        run_child(w, before, ends[1], c.left);
    }
    close(ends[1]);
    c.notes = ends[0];
    fcntl(c.notes, F_SETFL, O_NONBLOCK);
    return c;
}

/* Waits until the child has closed its pipe. Returns false after one second. */
static bool ends_soon(const WatchChild *c)
{
    char unread[4096];
    struct pollfd p = { .fd = c->notes, .events = POLLIN };
    for (;;) {
        const int ready = poll(&p, 1, PatientMs);
        const ssize_t n = ready > 0 ? read(c->notes, unread, sizeof unread)
                                    : -1;
        if (n == 0)
            return true;
        if (ready == 0)
            return false;
    }
}

int watch_end(WatchChild *c, bool now)
{
    int status = 0;
    if (now) {
        kill(c->pid, SIGTERM);
        if (!ends_soon(c))
            kill(c->pid, SIGKILL);
    }
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(c->notes);
    return status;
}
