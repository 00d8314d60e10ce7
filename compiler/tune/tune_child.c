/* tune_child.c: runs candidates in a child process. The child writes each step
 * on a board, in memory shared with the parent, before it begins the step. The
 * parent sleeps while the child is timed, but can tell which candidate crashed
 * or hung. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tune/tuner.h"

enum { MostAtOnce = 4096 };
typedef enum { DoBegin, DoOpen, DoCheck, DoTime } Doing;
static const char *const doing_text[] = { "beginning", "loading", "checking",
                                          "timing" };

typedef struct {
    atomic_int doing, at; /* current step; index of its candidate */
    atomic_llong steps;   /* number of steps that have begun */
    atomic_int done;      /* number of complete repetitions */
    atomic_bool over;
} Board;

static void set_verdict(Verdict *v, Status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void set_verdict(Verdict *v, Status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    v->status = status;
    vsnprintf(v->why, sizeof v->why, fmt, ap);
    va_end(ap);
}

/* ---- in the child ---- */
static void post(Board *b, Doing what, int which)
{
    atomic_store(&b->doing, what);
    atomic_store(&b->at, which);
    atomic_fetch_add(&b->steps, 1);
}

static void mix_order(int *order, int n, uint64_t *state)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)(bench_random(state) % (uint32_t)(i + 1));
        const int kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

/* ---- the results ---- */

/* Compares a result with the default's. Writes the first difference as the
 * reason in the verdict. */
static void compare(Verdict *v, const Result *expected, const Result *r)
{
    const float *x = expected->at, *y = r->at;
    const size_t n = r->floats ? r->bytes / sizeof *x : 0;
    const char *name = r->name ? r->name : "", *colon = r->name ? ": " : "";
    size_t at = 0, strange = 0, strange_before = 0;
    if (!memcmp(x, y, r->bytes))
        return;
    for (size_t i = 0; i < n; i++) {
        strange += !isfinite(y[i]);
        strange_before += !isfinite(x[i]);
    }
    while (at < n && !memcmp(&x[at], &y[at], sizeof *y))
        at++;
    if (strange > strange_before)
        set_verdict(v, StatusNaN, "%s%s%zu of its values are no numbers", name,
                    colon, strange);
    else if (at < n)
        set_verdict(v, StatusWrong, "%s%svalue %zu is %.9g, by default %.9g",
                    name, colon, at, (double)y[at], (double)x[at]);
    else
        set_verdict(v, StatusWrong, "%s%sit is not what it is by default", name,
                    colon);
}

/* Compares the results of a candidate with those of the default, which runs
 * first. */
static void check(Arena *a, const ChildWork *w, int candidate, Result *expected,
                  Verdict *v)
{
    for (int i = 0; i < w->results && v->status == StatusTimed; i++) {
        const Result r = w->result(w->with, candidate, i);
        if (expected[i].at) {
            compare(v, &expected[i], &r);
            continue;
        }
        expected[i] = r;
        expected[i].at = arena_alloc(a, r.bytes);
        memcpy(expected[i].at, r.at, r.bytes);
    }
}

static void open_all(const ChildWork *w, const Measurement *m, Board *b)
{
    Fault why;
    Arena *a = arena_new();
    Result *expected = arena_alloc(a, (size_t)w->results * sizeof *expected);
    for (int i = 0; i < m->n; i++) {
        Verdict *v = &m->verdict[i];
        if (v->status != StatusTimed)
            continue;
        post(b, DoOpen, i);
        if (!w->open(w->with, m->which[i], &why)) {
            set_verdict(v, StatusFailed, "%.150s", why.text);
            continue;
        }
        post(b, DoCheck, i);
        check(a, w, m->which[i], expected, v);
    }
    arena_free(a);
}

static void time_all(const ChildWork *w, const Measurement *m, Board *b)
{
    uint64_t state = m->order;
    int order[MostAtOnce], n = 0;
    for (int i = 0; i < m->n && n < MostAtOnce; i++)
        if (m->verdict[i].status == StatusTimed)
            order[n++] = i;
    for (int i = 0; i < m->repetitions; i++) {
        if (i > 0 && seconds_now() > m->until)
            return;
        mix_order(order, n, &state);
        for (int k = 0; k < n; k++) {
            const int64_t at = (int64_t)i * m->n + order[k];
            post(b, DoTime, order[k]);
            w->time(w->with, m->which[order[k]], m->sample + at * w->parts);
        }
        atomic_store(&b->done, i + 1);
    }
}

static _Noreturn void run_child(const ChildWork *w, const Measurement *m,
                                Board *b, pid_t parent)
{
    Fault why;
    interrupt_child(parent);
    post(b, DoBegin, 0);
    if (w->begin(w->with, &why))
        open_all(w, m, b);
    else
        set_verdict(&m->verdict[0], StatusFailed, "%.150s", why.text);
    if (m->verdict[0].status == StatusTimed)
        time_all(w, m, b);
    atomic_store(&b->over, true);
    _exit(ExitDone);
}

/* ---- in the parent ---- */
static void blame(Measurement *m, const Board *b, Status status,
                  const char *what)
{
    const int at = atomic_load(&b->at), doing = atomic_load(&b->doing);
    set_verdict(&m->verdict[at >= 0 && at < m->n ? at : 0], status,
                "%s while %s", what,
                doing_text[doing >= 0 && doing <= DoTime ? doing : DoBegin]);
}

/* Sets the verdict if the child has ended by itself. */
static void judge_end(Measurement *m, const Board *b, int status)
{
    char what[100];
    if (WIFSIGNALED(status))
        snprintf(what, sizeof what, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(what, sizeof what, "it ended with exit code %d",
                 WEXITSTATUS(status));
    if (!atomic_load(&b->over))
        blame(m, b, StatusCrashed, what);
}

static void end_child(pid_t pid)
{
    int status;
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

/* Waits for the child to end. Returns false if it hangs, or after a signal. */
static bool attend(const ChildWork *w, Measurement *m, const Board *b,
                   pid_t pid)
{
    double moved = seconds_now(), ticked = moved;
    long long last = -1;
    for (;;) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid) {
            kill(-pid, SIGKILL);
            judge_end(m, b, status);
            return true;
        }
        const long long steps = atomic_load(&b->steps);
        const double now = seconds_now();
        if (steps != last)
            moved = now;
        last = steps;
        if (interrupted())
            return false;
        if (now - moved > m->hang) {
            char what[64];
            snprintf(what, sizeof what, "no answer in %.1f s", m->hang);
            blame(m, b, StatusHung, what);
            return false;
        }
        if (w->tuner && now - ticked > 0.1) {
            tuner_tick(w->tuner);
            ticked = now;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
    }
}

/* Runs one child. Returns false if one candidate failed, so that the others
 * must run again without it. */
static bool run_once(const ChildWork *w, Measurement *m, Board *b)
{
    const pid_t parent = getpid();
    atomic_store(&b->done, 0);
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        run_child(w, m, b, parent);
    if (pid < 0) {
        set_verdict(&m->verdict[0], StatusFailed, "no child process: %s",
                    strerror(errno));
    } else {
        setpgid(pid, pid);
        interrupt_takes(pid);
        if (!attend(w, m, b, pid))
            end_child(pid);
        interrupt_leaves(pid);
    }
    return atomic_load(&b->over) || interrupted()
        || m->verdict[0].status != StatusTimed;
}

void child_measure(Arena *a, const ChildWork *w, Measurement *m)
{
    const size_t n = (size_t)m->n, verdicts = n * sizeof *m->verdict;
    const size_t samples = n * (size_t)m->repetitions * (size_t)w->parts
                         * sizeof *m->sample;
    const size_t bytes = sizeof(Board) + samples + verdicts;
    m->done = 0;
    m->verdict = arena_alloc(a, verdicts);
    m->sample = arena_alloc(a, samples);
    for (int i = 0; i < m->n; i++)
        m->verdict[i].status = StatusTimed;
    Board *b = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b == MAP_FAILED) {
        set_verdict(&m->verdict[0], StatusFailed, "out of memory");
        return;
    }
    Measurement shared = *m; /* the child writes to memory after the board */
    shared.sample = (double *)(b + 1);
    shared.verdict = (Verdict *)((char *)(b + 1) + samples);
    memcpy(shared.verdict, m->verdict, verdicts);
    bool ended = false; /* each further run is without one more candidate */
    for (int i = 0; !ended && i <= m->n; i++)
        ended = run_once(w, &shared, b);
    for (int i = 0; i < m->n && !interrupted(); i++)
        if (shared.verdict[i].status < Statuses) {
            m->verdict[i] = shared.verdict[i];
            m->verdict[i].why[sizeof m->verdict[i].why - 1] = '\0';
        }
    const int done = atomic_load(&b->done);
    if (ended && m->verdict[0].status == StatusTimed && done > 0
        && done <= m->repetitions && !interrupted()) {
        m->done = done;
        memcpy(m->sample, shared.sample, samples);
    }
    munmap(b, bytes);
}
