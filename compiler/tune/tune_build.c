/* tune_build.c: compiles candidates to shared objects in a temporary directory,
 * with one process per core. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
static const double patience = 20; /* timeout of a job, as a multiple of the
                                    * time that others took */

/* Copies the first error message, shortened for the report and without its
 * position. */
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

/* Returns the object that was compiled from the same text, or NULL. */
static const char *built_before(const Builder *b, const Code *m)
{
    for (int i = 0; i < b->built.n; i++)
        if (code_same(&b->built.at[i], m) && is_there(b->built.at[i].object))
            return b->built.at[i].object;
    return NULL;
}

/* Makes a compiler job. Its timeout is all remaining time for the default. For
 * a candidate, it is a multiple of the last job's time, which reflects how busy
 * the machine is. */
static SpawnJob new_job(Builder *b, Arena *a, Candidate *c, double took,
                        double last)
{
    const double left = fmax(1, last - b->env->now());
    const double most = took > 0 ? fmax(2, patience * took) : 30;
    c->code.object = arena_printf(a, "%s/%d.so", b->temp.path, b->built.n);
    vec_push(a, &b->built, c->code);
    return (SpawnJob){ .argv = cc_command(a, &b->cc, CcShared, c->code.object),
                       .input = c->code.text,
                       .input_bytes = c->code.n,
                       .seconds = c->is_default ? left : fmin(left, most) };
}

static void take_job(Builder *b, Candidate *c, const SpawnJob *j, double *took,
                     double last)
{
    const bool over = c->is_default || b->env->now() >= last - 1;
    if (j->ok && is_there(c->code.object)) {
        *took = j->took;
        return;
    }
    c->code.object = NULL;
    if ((j->late && over) || interrupted())
        return;
    c->status = StatusFailed;
    c->tried = true;
    if (j->ok)
        snprintf(c->why, sizeof c->why, "the compiler wrote nothing");
    else
        first_error(c->why, j);
}

/* Compiles n candidates in parallel. Updates the estimate of seconds per
 * job. */
static void make_some(Builder *b, Arena *a, Candidate **c, int n,
                      bool whole_model, double last)
{
    SpawnJob *spawn = arena_alloc(a, (size_t)n * sizeof *spawn);
    Candidate **of = arena_alloc(a, (size_t)n * sizeof *of);
    const double begin = b->env->now(), bytes = (double)c[0]->code.n;
    double *took = &b->took[whole_model];
    int count = 0;
    for (int i = 0; i < n; i++) {
        c[i]->code.object = built_before(b, &c[i]->code);
        if (c[i]->code.object)
            continue;
        of[count] = c[i];
        spawn[count++] = new_job(b, a, c[i], *took, last);
    }
    b->env->compile(spawn, count,
                    &(SpawnLimits){ .at_once = b->at_once,
                                    .out_fd = -1,
                                    .folder = b->temp.path });
    for (int i = 0; i < count; i++)
        take_job(b, of[i], &spawn[i], took, last);
    if (count == 0)
        return;
    b->each[whole_model] = (b->env->now() - begin) / count;
    b->whole_known |= whole_model;
    if (!b->whole_known)
        b->each[1] = b->each[0] * (double)b->whole_bytes / bytes;
}

void builder_build(Builder *b, Arena *a, Candidate **c, int n, bool whole_model,
                   double until, double last)
{
    int next = b->at_once; /* the first batch is one job per core */
    for (int i = 0; i < n && !b->jit && !interrupted(); i += next) {
        const double fit = (until - b->env->now()) / b->each[whole_model];
        if (i > 0)
            next = fit < 1 ? 0 : (int)fmin(fit, 1 << 20);
        if (next == 0)
            break;
        next = next < n - i ? next : n - i;
        make_some(b, a, c + i, next, whole_model, last);
    }
    for (int i = 0; i < n && !b->jit; i++)
        if (!c[i]->code.object)
            c[i]->code = (Code){ 0 };
}

/* ---- code ---- */
bool code_same(const Code *a, const Code *b)
{
    return a->n == b->n && a->text && b->text
        && !memcmp(a->text, b->text, a->n);
}
