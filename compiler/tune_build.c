/* tune_build.c: candidates become shared objects, as many compiled at once as
 * there are cores, in a temporary folder.                                 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tune_parts.h"

bool workshop_open(Workshop *w, Fault *why)
{
    w->each[0] = w->jit ? 0.005 : 0.4;
    w->each[1] = w->jit ? 0.05 : 1.5;
    w->at_once = (int)cores_usable();
    if (w->jit || temp_open(&w->temp, NULL))
        return true;
    return fault(why, ExitIO, "%s: cannot make a folder for compiled "
                 "candidates: %s; set TMPDIR", quote(temp_root()),
                 strerror(errno));
}

void workshop_close(Workshop *w)
{
    temp_close(&w->temp);
}

/* ------------------------------------------------------------ compiling --- */
/* The first error line, without its place: what a report has room for. */
static void first_error(char why[160], const SpawnJob *j)
{
    const char *at = strstr(j->said.tail, "error: ");
    if (!at)
        at = j->why.text;
    snprintf(why, 160, "%.*s", (int)(strcspn(at, "\n") < 150
                                     ? strcspn(at, "\n") : 150), at);
}

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

/* The object of a text that was compiled before; NULL: it was not. */
static const char *made_before(const Workshop *w, const Made *m)
{
    for (int i = 0; i < w->made.n; i++)
        if (w->made.at[i].n == m->n
            && !memcmp(w->made.at[i].text, m->text, m->n))
            return w->made.at[i].object;
    return NULL;
}

static void add_job(Workshop *w, Arena *a, SpawnJob *job, Made *m)
{
    m->object = arena_printf(a, "%s/%d.so", w->temp.path, w->made.n);
    vec_push(a, &w->made, *m);
    *job = (SpawnJob){ .argv = cc_command(a, &w->cc, CcShared, m->object),
                       .input = m->text, .input_bytes = m->n };
}

void workshop_make(Workshop *w, Arena *a, Made *const *made, int n,
                   double seconds, bool *ok, char (*why)[160])
{
    SpawnJob *jobs = arena_alloc(a, (size_t)(n + 1) * sizeof *jobs);
    int *job_of = arena_alloc(a, (size_t)(n + 1) * sizeof *job_of), count = 0;
    for (int i = 0; i < n && !w->jit; i++) {
        job_of[i] = -1;
        made[i]->object = made_before(w, made[i]);
        if (!made[i]->object)
            add_job(w, a, &jobs[job_of[i] = count++], made[i]);
    }
    spawn_all(jobs, count, &(SpawnLimits){ .at_once = w->at_once,
              .seconds = seconds, .out_fd = -1, .folder = w->temp.path });
    for (int i = 0; i < n; i++) {
        const SpawnJob *j = w->jit || job_of[i] < 0 ? NULL : &jobs[job_of[i]];
        ok[i] = w->jit || is_there(made[i]->object);
        if (j && !j->ok) {
            ok[i] = false;
            first_error(why[i], j);
        } else if (!ok[i]) {
            snprintf(why[i], 160, "the compiler wrote nothing");
        }
    }
}
