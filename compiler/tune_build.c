/* tune_build.c: candidates become shared objects, as many compiled at once as
 * there are cores, in a folder of ours that goes away however it ends: at the
 * end, or, after a kill -9, by a later run, which finds that nobody holds its
 * lock.                                                                      */
#define _GNU_SOURCE              /* O_DIRECTORY, flock */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tune_parts.h"

static const char stem[] = "attnc-tune-", lock_name[] = "lock";

/* ----------------------------------------------------------- the folder --- */
/* Takes the lock of a folder of ours; -1: somebody lives there, or it is not
 * ours.                                                                      */
static int lock_folder(const char *path, bool make)
{
    struct stat st;
    const int at = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = -1;
    if (at >= 0 && fstat(at, &st) == 0 && st.st_uid == geteuid())
        fd = openat(at, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC
                                   | (make ? O_CREAT | O_EXCL : 0), 0600);
    if (at >= 0)
        close(at);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* What earlier runs left that were killed. */
static void remove_stale(Arena *a, const char *in)
{
    DIR *dir = opendir(in);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, stem, strlen(stem)) != 0)
            continue;
        const char *path = arena_printf(a, "%s/%s", in, e->d_name);
        const int lock = lock_folder(path, false);
        if (lock < 0)
            continue;
        remove_tree(path);
        close(lock);
    }
    if (dir)
        closedir(dir);
}

bool workshop_open(Workshop *w, Arena *a, Fault *why)
{
    char *path = arena_printf(a, "%s/%sXXXXXX", temp_folder(), stem);
    w->lock = -1;
    w->each[0] = w->jit ? 0.005 : 0.4;
    w->each[1] = w->jit ? 0.05 : 1.5;
    w->at_once = (int)cores_usable();
    if (w->jit)
        return true;
    remove_stale(a, temp_folder());
    if (!mkdtemp(path))
        return fault(why, ExitIO, "%s: cannot make a folder for compiled "
                     "candidates; set TMPDIR", quote(path));
    w->folder = path;
    w->lock = lock_folder(path, true);
    return w->lock >= 0 || fault(why, ExitIO, "%s: cannot write: set TMPDIR",
                                 quote(path));
}

void workshop_close(Workshop *w)
{
    if (w->folder)
        remove_tree(w->folder);
    if (w->lock >= 0)
        close(w->lock);
    w->folder = NULL;
    w->lock = -1;
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
    m->object = arena_printf(a, "%s/%d.so", w->folder, w->made.n);
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
              .seconds = seconds, .out_fd = -1, .folder = w->folder });
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
