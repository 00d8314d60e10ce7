/* tune_child.c: runs candidates in a child process. Before each step, the child
 * notes it on a board, which is memory shared with the parent. So the parent,
 * which sleeps while the child is timed, knows which candidate crashed or
 * hung. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <math.h>
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
    atomic_int doing, at; /* the current step; index of its candidate */
    atomic_llong steps;   /* number of steps begun */
    atomic_int done;      /* number of complete repetitions */
    atomic_bool over;
} Board;

typedef struct { /* a board and the arrays that follow it */
    Board *board;
    Verdict *verdict; /* [n]: verdicts on the candidates */
    double *sample;   /* [repetitions][n][parts]: seconds */
    size_t bytes;
} Shared;

static bool shared_make(Shared *s, const Measurement *m, int parts)
{
    const size_t n = (size_t)m->n, verdicts = n * sizeof(Verdict) + 64;
    const size_t samples = (size_t)m->repetitions * n * (size_t)parts
                         * sizeof(double);
    s->bytes = 256 + verdicts + samples;
    void *at = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return false;
    s->board = at;
    s->sample = (double *)((char *)at + 256);
    s->verdict = (Verdict *)((char *)at + 256 + samples);
    memcpy(s->verdict, m->verdict, n * sizeof(Verdict));
    return true;
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
static int64_t count_strange(const Result *r)
{
    const float *x = r->at;
    int64_t n = 0;
    for (size_t i = 0; r->floats && i < r->bytes / sizeof *x; i++)
        n += !isfinite(x[i]);
    return n;
}

/* Writes which float differs first, as the reason of the verdict. */
static void say_where(Verdict *v, const char *name, const Result *expected,
                      const Result *r)
{
    const float *x = expected->at, *y = r->at;
    size_t at = 0;
    while (!memcmp(&x[at], &y[at], sizeof *y))
        at++;
    snprintf(v->why, sizeof v->why, "%svalue %zu is %.9g, by default %.9g",
             name, at, (double)y[at], (double)x[at]);
}

static void compare(Verdict *v, const Result *expected, const Result *r)
{
    char name[64] = "";
    if (!memcmp(expected->at, r->at, r->bytes))
        return;
    if (r->name)
        snprintf(name, sizeof name, "%s: ", r->name);
    const int64_t strange = count_strange(r);
    v->status = strange > count_strange(expected) ? StatusNaN : StatusWrong;
    if (v->status == StatusNaN)
        snprintf(v->why, sizeof v->why, "%s%lld of its values are no numbers",
                 name, (long long)strange);
    else if (r->floats)
        say_where(v, name, expected, r);
    else
        snprintf(v->why, sizeof v->why, "%sit is not what it is by default",
                 name);
}

/* Compares a candidate's results with those of the default, which runs
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

static void open_all(const ChildWork *w, const Measurement *m, const Shared *s)
{
    Fault why;
    Arena *a = arena_new();
    Result *expected = arena_alloc(a, (size_t)w->results * sizeof *expected);
    for (int i = 0; i < m->n; i++) {
        Verdict *v = &s->verdict[i];
        if (v->status != StatusTimed)
            continue;
        post(s->board, DoOpen, i);
        if (!w->open(w->with, m->which[i], &why)) {
            v->status = StatusFailed;
            snprintf(v->why, sizeof v->why, "%.150s", why.text);
            continue;
        }
        post(s->board, DoCheck, i);
        check(a, w, m->which[i], expected, v);
    }
    arena_free(a);
}

static void time_all(const ChildWork *w, const Measurement *m, const Shared *s)
{
    uint64_t state = m->order;
    int order[MostAtOnce], n = 0;
    for (int i = 0; i < m->n && n < MostAtOnce; i++)
        if (s->verdict[i].status == StatusTimed)
            order[n++] = i;
    for (int i = 0; i < m->repetitions; i++) {
        if (i > 0 && seconds_now() > m->until)
            return;
        mix_order(order, n, &state);
        for (int k = 0; k < n; k++) {
            const int64_t at = (int64_t)i * m->n + order[k];
            post(s->board, DoTime, order[k]);
            w->time(w->with, m->which[order[k]], s->sample + at * w->parts);
        }
        atomic_store(&s->board->done, i + 1);
    }
}

static _Noreturn void run_child(const ChildWork *w, const Measurement *m,
                                const Shared *s, pid_t parent)
{
    Fault why;
    interrupt_child(parent);
    post(s->board, DoBegin, 0);
    if (!w->begin(w->with, &why)) {
        snprintf(s->verdict[0].why, sizeof s->verdict[0].why, "%.150s",
                 why.text);
        s->verdict[0].status = StatusFailed;
    } else {
        open_all(w, m, s);
    }
    if (s->verdict[0].status == StatusTimed)
        time_all(w, m, s);
    atomic_store(&s->board->over, true);
    _exit(ExitDone);
}

/* ---- in the parent ---- */
static void blame(Measurement *m, const Board *b, Status status,
                  const char *what)
{
    const int at = atomic_load(&b->at), doing = atomic_load(&b->doing);
    Verdict *v = &m->verdict[at >= 0 && at < m->n ? at : 0];
    v->status = status;
    snprintf(v->why, sizeof v->why, "%s while %s", what,
             doing_text[doing >= 0 && doing <= DoTime ? doing : DoBegin]);
}

/* Sets the verdict after the child has ended by itself. */
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
        if (w->tick && now - ticked > 0.1) {
            w->tick(w->ticks);
            ticked = now;
        }
        nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
    }
}

/* Copies the times, and the verdicts on candidates that have none yet. */
static void take_results(Measurement *m, const Shared *s, int parts)
{
    const size_t n = (size_t)m->n * (size_t)parts;
    for (int i = 0; i < m->n; i++)
        if (m->verdict[i].status == StatusTimed
            && s->verdict[i].status < Statuses) {
            m->verdict[i] = s->verdict[i];
            m->verdict[i].why[sizeof m->verdict[i].why - 1] = '\0';
        }
    const int done = atomic_load(&s->board->done);
    m->done = done >= 0 && done <= m->repetitions ? done : 0;
    memcpy(m->sample, s->sample, n * (size_t)m->done * sizeof *m->sample);
}

/* Runs one child. Returns false if the candidate to blame must be left out and
 * the others run again. */
static bool run_once(const ChildWork *w, Measurement *m)
{
    Shared s;
    if (!shared_make(&s, m, w->parts)) {
        m->verdict[0] = (Verdict){ StatusFailed, "out of memory" };
        return true;
    }
    const pid_t parent = getpid();
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        run_child(w, m, &s, parent);
    if (pid < 0) {
        m->verdict[0].status = StatusFailed;
        snprintf(m->verdict[0].why, sizeof m->verdict[0].why,
                 "no child process: %s", strerror(errno));
    } else {
        setpgid(pid, pid);
        interrupt_takes(pid);
        if (!attend(w, m, s.board, pid))
            end_child(pid);
        interrupt_leaves(pid);
    }
    const bool over = atomic_load(&s.board->over);
    if (!interrupted())
        take_results(m, &s, w->parts);
    munmap(s.board, s.bytes);
    return over || interrupted() || m->verdict[0].status != StatusTimed;
}

void child_measure(Arena *a, const ChildWork *w, Measurement *m)
{
    const size_t n = (size_t)m->n;
    m->done = 0;
    m->verdict = arena_alloc(a, n * sizeof *m->verdict);
    m->sample = arena_alloc(a, n * (size_t)m->repetitions * (size_t)w->parts
                                   * sizeof *m->sample);
    for (int i = 0; i < m->n; i++)
        m->verdict[i].status = StatusTimed;
    while (!run_once(w, m))
        m->done = 0;
    if (m->verdict[0].status != StatusTimed)
        m->done = 0;
}
