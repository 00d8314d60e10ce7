/* build.c: candidates become shared objects, as many compiled at once as
 * there are cores, in a temporary folder.                                 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tune/tuner.h"

bool builder_open(Builder *w, Fault *why)
{
    w->each[0] = w->jit ? 0.005 : 0.4;
    w->each[1] = w->jit ? 0.05 : 1.5;
    w->at_once = (int)cores_usable();
    if (w->jit || temp_open(&w->temp, NULL))
        return true;
    return fault(why, ExitIO,
                 "%s: cannot make a folder for compiled "
                 "candidates: %s; set TMPDIR",
                 quote(temp_root()), strerror(errno));
}

void builder_close(Builder *w)
{
    temp_close(&w->temp);
}

/* ------------------------------------------------------------ compiling --- */
static const double patience = 20; /* times what others took */

/* What one takes by the side of others. */
static void learn(Builder *w, const BuildJob *b, double each)
{
    w->each[b->whole] = each;
    w->whole_known |= b->whole;
    if (!w->whole_known)
        w->each[1] = each * (double)w->whole_bytes / (double)b->code->n;
}

/* The first error line, without its place: what a report has room for. */
static void first_error(char why[160], const SpawnJob *j)
{
    const char *at = strstr(j->said.tail, "error: ");
    if (!at)
        at = j->why.text;
    snprintf(why, 160, "%.*s",
             (int)(strcspn(at, "\n") < 150 ? strcspn(at, "\n") : 150), at);
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

/* The object of a text that was compiled before; NULL: it was not. */
static const char *built_before(const Builder *w, const Code *m)
{
    for (int i = 0; i < w->built.n; i++)
        if (w->built.at[i].n == m->n
            && !memcmp(w->built.at[i].text, m->text, m->n)
            && is_there(w->built.at[i].object))
            return w->built.at[i].object;
    return NULL;
}

/* The default may take as long as there is time at all, a candidate a multiple
 * of what others took just now: with what else the machine has to do.        */
static double limit_of_job(const Builder *w, const BuildJob *b, double last)
{
    const double left = fmax(1, last - tune_now());
    const double took = w->took[b->whole];
    return b->usual ? left
                    : fmin(left, took > 0 ? fmax(2, patience * took) : 30);
}

static void add_job(Builder *w, Arena *a, SpawnJob *job, const BuildJob *b,
                    double last)
{
    Code *m = b->code;
    m->object = arena_printf(a, "%s/%d.so", w->temp.path, w->built.n);
    vec_push(a, &w->built, *m);
    *job = (SpawnJob){ .argv = cc_command(a, &w->cc, CcShared, m->object),
                       .input = m->text,
                       .input_bytes = m->n,
                       .seconds = limit_of_job(w, b, last) };
}

static void take_job(Builder *w, BuildJob *b, const SpawnJob *j, double last)
{
    const bool over = b->usual || tune_now() >= last - 1;
    b->end = j->ok && is_there(b->code->object) ? BuildDone
           : j->late && over                    ? BuildLate
                                                : BuildFailed;
    if (j->ok && b->end == BuildFailed)
        snprintf(b->why, sizeof b->why, "the compiler wrote nothing");
    else if (b->end == BuildFailed)
        first_error(b->why, j);
    if (b->end == BuildDone)
        w->took[b->whole] = j->took;
}

/* All of them, side by side. */
static void make_some(Builder *w, Arena *a, BuildJob *b, int n, double last)
{
    SpawnJob *jobs = arena_alloc(a, (size_t)n * sizeof *jobs);
    int *job_of = arena_alloc(a, (size_t)n * sizeof *job_of), count = 0;
    const double begin = tune_now();
    for (int i = 0; i < n; i++) {
        job_of[i] = -1;
        b[i].code->object = built_before(w, b[i].code);
        if (b[i].code->object)
            b[i].end = BuildDone;
        else
            add_job(w, a, &jobs[job_of[i] = count++], &b[i], last);
    }
    tune_world.compile(jobs, count,
                       &(SpawnLimits){ .at_once = w->at_once,
                                       .out_fd = -1,
                                       .folder = w->temp.path });
    for (int i = 0; i < n; i++)
        if (job_of[i] >= 0)
            take_job(w, &b[i], &jobs[job_of[i]], last);
    if (count > 0)
        learn(w, &b[0], (tune_now() - begin) / count);
}

void builder_build(Builder *w, Arena *a, BuildJob *b, int n, double until,
                   double last)
{
    int next = w->at_once; /* then as many as there is time for */
    for (int i = 0; i < n && w->jit; i++)
        b[i].end = BuildDone;
    for (int i = 0; i < n && !w->jit && !interrupted(); i += next) {
        const double left = until - tune_now();
        if (i > 0) {
            const double fit = left / w->each[b[i].whole];
            next = fit < 1 ? 0 : (int)fmin(fit, 1 << 20);
        }
        if (next == 0)
            return;
        next = next < n - i ? next : n - i;
        make_some(w, a, b + i, next, last);
    }
}
