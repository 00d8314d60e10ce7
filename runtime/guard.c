/* guard.c: no output replaces a file that its command reads, nor, without
 * --force, one that looks like an input.
 *
 * Files that were read are remembered by device and inode. Outputs that are to
 * come are remembered by path, because what lies there may change. A conflict
 * is found by whichever of the two comes second, before the work is done.   */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "looks.h"
#include "rt.h"

typedef struct {
    dev_t device;
    ino_t inode;
    FileUse use;
    char *output; /* its path; NULL: a file that was read */
} Guarded;

/* Of the process, because any directory may read and write files. */
static struct {
    pthread_mutex_t lock;
    bool on, force, refused;
    Guarded *at;
    size_t n, capacity;
} guard = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool add(Guarded g, const char *path, Fault *why)
{
    if (guard.n == guard.capacity) {
        const size_t more = 2 * guard.capacity + 16;
        Guarded *at = realloc(guard.at, more * sizeof *at);
        if (!at)
            return fault(why, ExitResource, "%s: out of memory", path);
        guard.at = at;
        guard.capacity = more;
    }
    guard.at[guard.n++] = g;
    return true;
}

static bool conflict(const char *path, Fault *why)
{
    guard.refused = true;
    return fault(why, ExitUsage,
                 "%s: this command reads the file and would replace it: name "
                 "another output",
                 path);
}

/* One use for both, but for plain inputs, makes reading and writing one file
 * the purpose of the command.                                               */
static bool may_share(FileUse a, FileUse b)
{
    return a == b && a != UseInput;
}

void guard_begin(void)
{
    struct stat st;
    Fault unused;
    /* What a command left that ended by exit() is not freed twice. */
    guard.at = NULL;
    guard.n = guard.capacity = 0;
    guard.force = guard.refused = false;
    guard.on = true;
    if (fstat(STDIN_FILENO, &st) == 0)
        guard_read(&st, "stdin", UseInput, &unused);
}

void guard_end(void)
{
    for (size_t i = 0; i < guard.n; i++)
        free(guard.at[i].output);
    free(guard.at);
    guard.at = NULL;
    guard.n = guard.capacity = 0;
}

void guard_force(void)
{
    guard.force = true;
}

bool guard_refused(void)
{
    return guard.refused;
}

/* --------------------------------------------------------------- reading ---
 */
static bool is_output(const Guarded *g, const struct stat *st)
{
    struct stat at;
    return g->output && stat(g->output, &at) == 0 && at.st_dev == st->st_dev
        && at.st_ino == st->st_ino;
}

static bool is_read(const Guarded *g, const struct stat *st)
{
    return !g->output && g->device == st->st_dev && g->inode == st->st_ino;
}

static bool read_locked(const struct stat *st, const char *path, FileUse use,
                        Fault *why)
{
    bool known = false;
    for (size_t i = 0; i < guard.n; i++) {
        const Guarded *g = &guard.at[i];
        if (is_output(g, st) && !may_share(g->use, use))
            return conflict(g->output, why);
        known = known || (is_read(g, st) && g->use == use);
    }
    return known
        || add((Guarded){ st->st_dev, st->st_ino, use, NULL }, path, why);
}

bool guard_read(const struct stat *st, const char *path, FileUse use,
                Fault *why)
{
    if (!guard.on || use == UseOwn || !S_ISREG(st->st_mode))
        return true;
    pthread_mutex_lock(&guard.lock);
    const bool done = read_locked(st, path, use, why);
    pthread_mutex_unlock(&guard.lock);
    return done;
}

void guard_operand(const char *path)
{
    struct stat st;
    Fault unused;
    if (path && stat(path, &st) == 0)
        guard_read(&st, path, UseInput, &unused);
}

/* --------------------------------------------------------------- writing ---
 */
/* What is there already; NULL: nothing that looks like an input, or nothing
 * that can be read.                                                         */
static const char *looks_like(const char *path, size_t size)
{
    const char *kind = NULL;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (at == MAP_FAILED)
        return NULL;
    kind = attn_looks_like(path, at, (int64_t)size);
    munmap(at, size);
    return kind;
}

static bool write_locked(const struct stat *st, const char *path, FileUse use,
                         Fault *why)
{
    bool known = false;
    for (size_t i = 0; i < guard.n; i++) {
        const Guarded *g = &guard.at[i];
        if (is_read(g, st) && !may_share(g->use, use))
            return conflict(path, why);
        known = known || (g->output && strcmp(g->output, path) == 0);
    }
    const char *kind = guard.force || st->st_size == 0
                         ? NULL
                         : looks_like(path, (size_t)st->st_size);
    if (kind)
        return fault(why, ExitUsage,
                     "%s: looks like %s: name another output, or replace it by "
                     "--force",
                     path, kind);
    if (known)
        return true;
    Guarded g = { .use = use, .output = strdup(path) };
    if (!g.output)
        return fault(why, ExitResource, "%s: out of memory", path);
    return add(g, path, why);
}

bool guard_write(const char *path, FileUse use, Fault *why)
{
    struct stat st;
    if (!guard.on || use == UseOwn || stat(path, &st) != 0
        || !S_ISREG(st.st_mode))
        return true;
    pthread_mutex_lock(&guard.lock);
    const bool done = write_locked(&st, path, use, why);
    pthread_mutex_unlock(&guard.lock);
    return done;
}

void guard_written(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    pthread_mutex_lock(&guard.lock);
    for (size_t i = guard.n; i-- > 0;)
        if (is_output(&guard.at[i], &st)) {
            free(guard.at[i].output);
            guard.at[i] = guard.at[--guard.n];
        }
    pthread_mutex_unlock(&guard.lock);
}
