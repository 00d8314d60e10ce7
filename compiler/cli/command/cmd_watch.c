/* cmd_watch.c: attnc watch. Repeats a run whenever the spec, or another file
 * that the run reads, changes. Each run is a process of its own
 * (watch_child.c); this process waits for changes, for the run, and for
 * signals. */
#define _GNU_SOURCE /* ppoll, memfd_create */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/command/changes.h"
#include "base/strings.h"
#include "backend/backend.h"
#include "cli/command/watch.h"
#include "machine/machine.h"
#include "runtime/files/foreign.h"

enum {
    QuietMs = 5,     /* ms without a change after which a file counts as
                      * complete */
    GoneMs = 50,     /* ms after which a removed file counts as gone */
    MostChanges = 40 /* number of events after which a run starts in any case */
};

static const double quick = 0.01; /* seconds per workload in `bench` */

typedef struct {
    Arena *arena;
    Watched what;
    Changes *changes;
    Facts before; /* facts of the last complete run, in their own arena */
    WatchChild child;
    Buffer notes;        /* notes from the child that have not been parsed */
    const char *changed; /* a file that changed since the run began, or NULL */
    bool gone;
    sigset_t unblocked; /* signals that may arrive during a wait */
} Watch;

/* ---- command line ---- */
static bool is_command(const char *word)
{
    for (int i = 0; i < n_commands; i++)
        if (strcmp(commands[i].name, word) == 0)
            return true;
    return false;
}

/* Returns the command to repeat, run or (by default) bench. Sets *first to the
 * index of its first option. */
static const Command *watched_command(const Options *o, int *first)
{
    static const char *const known[] = { "run", "bench" };
    *first = o->rest.n > 0 && strcmp(o->rest.at[0], "--") == 0;
    const char *word = o->rest.n > *first ? o->rest.at[*first] : "-";
    if (word[0] == '-')
        return &commands[NthBench];
    ++*first;
    for (int i = 0; i < 2; i++)
        if (strcmp(word, known[i]) == 0)
            return command_find(word);
    const bool other = is_command(word);
    const char *near = other ? NULL : nearest(word, known, 2);
    fail(ExitUsage, "attnc watch runs bench or run, not '%s'%s%s%s",
         quote(word), near ? ": did you mean " : "", near ? near : "",
         near ? "?" : "");
}

/* Parses the options after the spec as the watched command does. */
static void *watched_options(Arena *a, const Options *o, const Command *c,
                             int first)
{
    const int n = o->rest.n - first;
    char **words = arena_alloc(a, (size_t)(n + 1) * sizeof *words);
    words[0] = arena_strdup(a, o->spec);
    for (int i = 0; i < n; i++)
        words[i + 1] = arena_strdup(a, o->rest.at[first + i]);
    return options_parse(a, c, n + 1, words);
}

static bool is_given(const Options *o, const char *option)
{
    for (int i = 0; i < o->rest.n; i++)
        if (strncmp(o->rest.at[i], option, strlen(option)) == 0)
            return true;
    return false;
}

static void prepare_bench(Options *b, const Options *o)
{
    const char *word = b->machine                    ? "--machine"
                     : b->bench.svg                  ? "--svg"
                     : b->bench.format != BenchTable ? "--format"
                     : is_given(o, "-o")             ? "-o"
                                                     : NULL;
    if (word)
        fail(ExitUsage, "attnc watch takes no %s: attnc bench does", word);
    if (!is_given(o, "--seconds"))
        b->bench.seconds = quick;
    b->bench.no_limit = b->bench.no_kernels = true;
}

/* Copies stdin to a file, which each run reads from the start. */
static int take_lines(void)
{
    char block[65536];
    ssize_t n;
    const int to = memfd_create("attnc", MFD_CLOEXEC);
    if (isatty(STDIN_FILENO))
        fail(ExitUsage, "attnc watch: run answers lines of stdin, which is the "
                        "terminal: give them by a file or a pipe, or "
                        "--prompt TEXT");
    while ((n = read(STDIN_FILENO, block, sizeof block)) != 0)
        if (n > 0 ? write(to, block, (size_t)n) != n : errno != EINTR)
            fail(ExitIO, "cannot read the lines of stdin: %s", strerror(errno));
    return to;
}

static void prepare_run(Watched *w)
{
    const Options *r = w->run;
    if (r->chat)
        fail(ExitUsage, "attnc watch takes no --chat: attnc run does");
    if (r->save_state && r->load_state)
        fail(ExitUsage, "attnc watch: --save-state with --load-state would run "
                        "again for ever");
    if (!r->prompt && !r->input)
        w->lines = take_lines();
}

static Watched read_command(Arena *a, const Options *o)
{
    int first;
    Fault why;
    Watched w = { .spec = o->spec, .lines = -1 };
    if (is_stdout(o->spec))
        fail(ExitUsage, "attnc watch -: stdin is read once and cannot be "
                        "watched: name a file");
    const Command *c = watched_command(o, &first);
    void *options = watched_options(a, o, c, first);
    w.first = o->spec;
    if (is_folder(o->spec)) {
        if (foreign_file(o->spec, AskedSpec, &why))
            fail(why.code, "%s", why.text);
        w.first = arena_printf(a, "%s/config.json",
                               without_slashes(a, o->spec));
    }
    if (c == &commands[NthRun]) {
        w.run = options;
        prepare_run(&w);
    } else {
        w.bench = *(const Options *)options;
        prepare_bench(&w.bench, o);
    }
    return w;
}

/* ---- waiting ---- */
static _Noreturn void give_up(const Fault *why)
{
    exit(report_fault(why));
}

static void take_changes(Watch *w)
{
    const Changed c = changes_read(w->changes);
    if (!c.path)
        return;
    w->changed = w->changed ? w->changed : c.path;
    w->gone = c.gone;
}

/* Watches the files that the run reads. A file whose state is not the one from
 * before the run read it has changed. */
static void take_notes(Watch *w)
{
    FileNote note;
    Fault why;
    int at = 0;
    for (; w->notes.n - at >= (int)sizeof note; at += (int)note.bytes) {
        memcpy(&note, w->notes.at + at, sizeof note);
        if (w->notes.n - at < (int)sizeof note + (int)note.bytes)
            break;
        at += (int)sizeof note;
        const char *path = arena_strndup(w->notes.arena, w->notes.at + at,
                                         (size_t)note.bytes);
        if (!changes_add(w->changes, path, &why))
            give_up(&why);
        const FileState state = file_state(path);
        if (!same_state(&state, &note.state) && !w->changed)
            w->changed = arena_strdup(w->arena, path);
    }
    w->notes.n -= at;
    memmove(w->notes.at, w->notes.at + at, (size_t)w->notes.n);
}

/* Reads notes from the child. Returns false when the run has ended. */
static bool read_notes(Watch *w)
{
    char block[4096];
    for (;;) {
        const ssize_t n = read(w->child.notes, block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0;
        buffer_add(&w->notes, block, (size_t)n);
        take_notes(w);
    }
}

/* Waits up to `ms` milliseconds (-1: forever) for a change or, if `runs` is
 * set, for the run. Returns false on timeout. */
static bool wait_for(Watch *w, bool runs, int ms)
{
    struct pollfd p[] = {
        { .fd = changes_fd(w->changes), .events = POLLIN },
        { .fd = runs ? w->child.notes : -1, .events = POLLIN },
    };
    const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    return ppoll(p, 2, ms < 0 ? NULL : &t, &w->unblocked) != 0;
}

/* Waits until the file no longer changes, because an editor may write it more
 * than once. */
static void let_rest(Watch *w)
{
    for (int i = 0; i < MostChanges && !interrupted(); i++) {
        if (!wait_for(w, false, w->gone ? GoneMs : QuietMs))
            return;
        take_changes(w);
    }
}

/* ---- runs ---- */
static void put_time(const char *text, const char *more)
{
    char clock[16];
    const time_t now = time(NULL);
    strftime(clock, sizeof clock, "%H:%M:%S", localtime(&now));
    printf("%s-- %s %s%s%s\n", paint(stdout, PaintHead), clock, text, more,
           paint(stdout, PaintEnd));
    fflush(stdout);
}

static const char *code_text(int code)
{
    static const char *const text[] = {
        [ExitNegative] = "not verified", [ExitUsage] = "usage",
        [ExitInput] = "invalid input",   [ExitIO] = "I/O",
        [ExitResource] = "resources",    [ExitBackend] = "back end",
    };
    return code >= 1 && code <= ExitBackend ? text[code] : "internal error";
}

/* Prints how a run ended. */
static void put_status(Watch *w, int status, double seconds)
{
    Arena *a = w->notes.arena;
    const char *how =
        WIFSIGNALED(status)
            ? arena_printf(a, "ended by signal %d (%s)", WTERMSIG(status),
                           strsignal(WTERMSIG(status)))
        : WEXITSTATUS(status)
            ? arena_printf(a, "exit code %d (%s)", WEXITSTATUS(status),
                           code_text(WEXITSTATUS(status)))
            : arena_printf(a, "done in %s", seconds_text(a, seconds));
    put_time(how, "; waits for a change");
}

/* Replaces the facts of the last run with those of this one, if these are
 * complete. */
static void take_facts(Watch *w)
{
    Facts now = { .arena = arena_new() };
    rewind(w->child.left);
    if (facts_read(&now, w->child.left)) {
        arena_free(w->before.arena);
        w->before = now;
    } else {
        arena_free(now.arena);
    }
}

/* Starts a run and waits until it ends or a file changes. */
static void run_once(Watch *w)
{
    w->changed = NULL;
    w->gone = false;
    arena_reset(w->notes.arena);
    w->notes = (Buffer){ .arena = w->notes.arena };
    const double begin = seconds_now();
    w->child = watch_start(&w->what, &w->before);
    bool runs = true;
    while (runs && !w->changed && !interrupted()) {
        wait_for(w, true, -1);
        take_changes(w);
        runs = read_notes(w);
    }
    const int status = watch_end(&w->child, runs);
    if (!runs)
        take_facts(w);
    if (!runs)
        put_status(w, status, seconds_now() - begin);
    fclose(w->child.left);
}

static void watch(Watch *w)
{
    Fault why;
    put_time(w->what.spec, "");
    for (;;) {
        run_once(w);
        while (!w->changed && !interrupted()) {
            wait_for(w, false, -1);
            take_changes(w);
        }
        let_rest(w);
        if (interrupted())
            return;
        if (!changes_renew(w->changes, &why))
            give_up(&why);
        puts("");
        put_time(w->changed, w->gone ? " is gone" : " changed");
    }
}

static void close_watch(const Watch *w)
{
    changes_close(w->changes);
    arena_free(w->before.arena);
    arena_free(w->notes.arena);
    arena_free(w->arena);
}

int cmd_watch(const Options *o)
{
    sigset_t ends;
    Fault why;
    Watch w = { .arena = arena_new(), .before = { .arena = arena_new() } };
    w.notes.arena = arena_new();
    w.what = read_command(w.arena, o);
    w.changes = changes_open(w.arena, &why);
    if (!w.changes || !changes_add(w.changes, w.what.first, &why)) {
        const int code = report_fault(&why);
        close_watch(&w);
        return code;
    }
    interrupt_watch();
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &w.unblocked);
    watch(&w);
    close_watch(&w);
    sigprocmask(SIG_SETMASK, &w.unblocked, NULL);
    interrupt_end(); /* raises the recorded signal again */
    return ExitDone;
}
