/* guard.c: protects inputs. No output replaces a file that the command reads
 * nor, without --force, a file that looks like an input. Files that were read
 * are identified by device and inode, future outputs by path, because the file
 * at the path may change. A conflict is reported when the second of the two is
 * registered, before any work is done. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "looks.h"
#include "runtime/rt.h"

typedef struct {
    dev_t device;
    ino_t inode;
    FileUse use;
    char *output; /* path of an output; NULL: this is a file that was read */
} Guarded;

/* one list per process, because any module may read and write files */
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

/* True if both uses are the same and neither is a plain input, which means that
 * the command reads and writes the file on purpose. */
static bool may_share(FileUse a, FileUse b)
{
    return a == b && a != UseInput;
}

void guard_begin(void)
{
    struct stat st;
    Fault unused;
    /* The list may belong to a command that ended by exit(), whose memory may
     * be gone, so forget the list without freeing it. */
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
    guard.on = false;
}

void guard_force(void)
{
    guard.force = true;
}

bool guard_refused(void)
{
    return guard.refused;
}

/* ---- reading ---- */
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

bool guard_operand(const char *path, FileUse use, Fault *why)
{
    struct stat st;
    if (!path)
        return true;
    if (stat(path, &st) == 0)
        return guard_read(&st, path, use, why);
    /* the file does not exist yet: the command creates it */
    return use == UseInput || guard_write(path, use, why);
}

/* ---- writing ---- */

/* Returns the kind of input that the file resembles, or NULL if it resembles
 * none or cannot be read. */
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

bool guard_place(const char *path, char *to)
{
    char at[PATH_MAX], link[PATH_MAX], folder[PATH_MAX];
    int n = snprintf(at, sizeof at, "%s", path);
    for (int k = 0; k < 40 && n >= 0 && n < PATH_MAX; k++) {
        if (realpath(at, to))
            return true;
        const char *slash = strrchr(at, '/');
        const int in = slash ? (int)(slash + 1 - at) : 0;
        n = snprintf(folder, sizeof folder, "%.*s.", in, at);
        if (errno != ENOENT || n >= PATH_MAX || !realpath(folder, to))
            return false;
        const ssize_t got = readlink(at, link, sizeof link);
        if (got == PATH_MAX)
            return false;
        const size_t length = strlen(to);
        if (got < 0) {
            n = snprintf(to + length, PATH_MAX - length, "/%s", at + in);
            return n >= 0 && (size_t)n < PATH_MAX - length;
        }
        n = *link == '/'
              ? snprintf(at, sizeof at, "%.*s", (int)got, link)
              : snprintf(at, sizeof at, "%s/%.*s", to, (int)got, link);
    }
    return false;
}

bool guard_same(const char *a, const char *b)
{
    char x[PATH_MAX], y[PATH_MAX];
    struct stat s, t;
    if (stat(a, &s) == 0 && stat(b, &t) == 0)
        return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
    return strcmp(a, b) == 0
        || (guard_place(a, x) && guard_place(b, y) && strcmp(x, y) == 0);
}

/* Registers an output, or reports a conflict. `st` is NULL if there is no
 * file. */
static bool write_locked(const struct stat *st, const char *path, FileUse use,
                         Fault *why)
{
    bool known = false;
    for (size_t i = 0; i < guard.n; i++) {
        const Guarded *g = &guard.at[i];
        const bool same = g->output && guard_same(g->output, path);
        if ((st && is_read(g, st) && !may_share(g->use, use))
            || (same && g->use != use))
            return conflict(path, why);
        known = known || same;
    }
    const char *kind = guard.force || !st || use == UseRows || st->st_size == 0
                         ? NULL
                         : looks_like(path, (size_t)st->st_size);
    if (kind)
        return fault(why, ExitUsage,
                     "%s: looks like %s: name another output, or replace it by "
                     "--force",
                     path, kind);
    if (known)
        return true;
    const size_t size = strlen(path) + 1;
    Guarded g = { .use = use, .output = malloc(size) };
    if (!g.output)
        return fault(why, ExitResource, "%s: out of memory", path);
    memcpy(g.output, path, size);
    if (add(g, path, why))
        return true;
    free(g.output);
    return false;
}

bool guard_write(const char *path, FileUse use, Fault *why)
{
    struct stat st;
    const bool there = stat(path, &st) == 0;
    if (!guard.on || use == UseOwn || (there && !S_ISREG(st.st_mode)))
        return true;
    pthread_mutex_lock(&guard.lock);
    const bool done = write_locked(there ? &st : NULL, path, use, why);
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
