/* tune_build.c: compiles candidates to shared objects in a temporary directory,
 * one process per core. */
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

bool builder_open(Builder *b, Fault *why)
{
    b->each[0] = b->jit ? 0.005 : 0.4;
    b->each[1] = b->jit ? 0.05 : 1.5;
    b->at_once = (int)attn_cores();
    if (b->jit || temp_open(&b->temp, NULL))
        return true;
    return fault(why, ExitIO,
                 "%s: cannot make a folder for compiled "
                 "candidates: %s; set TMPDIR",
                 quote(temp_root()), strerror(errno));
}

void builder_close(Builder *b)
{
    temp_close(&b->temp);
}

/* ---- compiling ---- */
static const double patience = 20; /* timeout of a job, in multiples of the time
                                    * that others took */

/* Updates the estimated seconds per job of a parallel compilation. */
static void learn(Builder *b, const BuildJob *job, double each)
{
    b->each[job->whole_model] = each;
    b->whole_known |= job->whole_model;
    if (!b->whole_known)
        b->each[1] = each * (double)b->whole_bytes / (double)job->code->n;
}

/* Copies the first error message without its position, shortened for the
 * report. */
static void first_error(char why[160], const SpawnJob *j)
{
    const char *at = strstr(j->messages.tail, "error: ");
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

/* Returns the object compiled earlier from the same text, or NULL. */
static const char *built_before(const Builder *b, const Code *m)
{
    for (int i = 0; i < b->built.n; i++)
        if (b->built.at[i].n == m->n
            && !memcmp(b->built.at[i].text, m->text, m->n)
            && is_there(b->built.at[i].object))
            return b->built.at[i].object;
    return NULL;
}

/* Returns the timeout of a job in seconds. The default gets all remaining time.
 * A candidate gets a multiple of the time of the last job, which reflects how
 * busy the machine is. */
static double limit_of_job(const Builder *b, const BuildJob *job, double last)
{
    const double left = fmax(1, last - b->env->now());
    const double took = b->took[job->whole_model];
    return job->by_default
             ? left
             : fmin(left, took > 0 ? fmax(2, patience * took) : 30);
}

static void add_job(Builder *b, Arena *a, SpawnJob *spawn, const BuildJob *job,
                    double last)
{
    Code *m = job->code;
    m->object = arena_printf(a, "%s/%d.so", b->temp.path, b->built.n);
    vec_push(a, &b->built, *m);
    *spawn = (SpawnJob){ .argv = cc_command(a, &b->cc, CcShared, m->object),
                         .input = m->text,
                         .input_bytes = m->n,
                         .seconds = limit_of_job(b, job, last) };
}

static void take_job(Builder *b, BuildJob *job, const SpawnJob *j, double last)
{
    const bool over = job->by_default || b->env->now() >= last - 1;
    job->status = j->ok && is_there(job->code->object) ? BuildDone
                : j->late && over                      ? BuildLate
                                                       : BuildFailed;
    if (j->ok && job->status == BuildFailed)
        snprintf(job->why, sizeof job->why, "the compiler wrote nothing");
    else if (job->status == BuildFailed)
        first_error(job->why, j);
    if (job->status == BuildDone)
        b->took[job->whole_model] = j->took;
}

/* Compiles all n jobs in parallel. */
static void make_some(Builder *b, Arena *a, BuildJob *jobs, int n, double last)
{
    SpawnJob *spawns = arena_alloc(a, (size_t)n * sizeof *spawns);
    int *job_of = arena_alloc(a, (size_t)n * sizeof *job_of), count = 0;
    const double begin = b->env->now();
    for (int i = 0; i < n; i++) {
        job_of[i] = -1;
        jobs[i].code->object = built_before(b, jobs[i].code);
        if (jobs[i].code->object)
            jobs[i].status = BuildDone;
        else
            add_job(b, a, &spawns[job_of[i] = count++], &jobs[i], last);
    }
    b->env->compile(spawns, count,
                    &(SpawnLimits){ .at_once = b->at_once,
                                    .out_fd = -1,
                                    .folder = b->temp.path });
    for (int i = 0; i < n; i++)
        if (job_of[i] >= 0)
            take_job(b, &jobs[i], &spawns[job_of[i]], last);
    if (count > 0)
        learn(b, &jobs[0], (b->env->now() - begin) / count);
}

void builder_build(Builder *b, Arena *a, BuildJob *jobs, int n, double until,
                   double last)
{
    int next = b->at_once; /* the first batch has one job per core */
    for (int i = 0; i < n && b->jit; i++)
        jobs[i].status = BuildDone;
    for (int i = 0; i < n && !b->jit && !interrupted(); i += next) {
        const double left = until - b->env->now();
        if (i > 0) {
            const double fit = left / b->each[jobs[i].whole_model];
            next = fit < 1 ? 0 : (int)fmin(fit, 1 << 20);
        }
        if (next == 0)
            return;
        next = next < n - i ? next : n - i;
        make_some(b, a, jobs + i, next, last);
    }
}
