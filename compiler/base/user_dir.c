/* user_dir.c: the user's cache folder, and files only that user can write. */
#define _GNU_SOURCE /* for O_DIRECTORY and O_NOFOLLOW */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/user_dir.h"

static bool is_ours(const struct stat *st)
{
    return st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

/* ---- folder ---- */
const char *user_dir(Arena *a)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (base && *base == '/')
        return arena_printf(a, "%s/attnc", base);
    return home && *home == '/' ? arena_printf(a, "%s/.cache/attnc", home)
                                : NULL;
}

bool user_dir_has(Arena *a, const char *path)
{
    const char *own = user_dir(a);
    const size_t n = own ? strlen(own) : 0;
    return own && strncmp(path, own, n) == 0 && path[n] == '/';
}

bool user_dir_trusted(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && is_ours(&st)
           && access(path, W_OK) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

bool user_dir_make(Arena *a, const char *folder)
{
    const size_t base = (size_t)(strrchr(folder, '/') - folder);
    mkdir(arena_strndup(a, folder, base), 0700);
    mkdir(folder, 0700);
    return user_dir_trusted(folder);
}

/* ---- file ---- */
static bool read_all(int fd, char *to, size_t n)
{
    while (n > 0) {
        ssize_t r = read(fd, to, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r == 0)
            errno = ENODATA; /* the file was truncated meanwhile */
        if (r <= 0)
            return false;
        to += r;
        n -= (size_t)r;
    }
    return true;
}

static bool cannot_read(const char *path, Fault *why)
{
    return fault(why, ExitIO, "%s: cannot read: %s", path,
                 errno == ELOOP ? "it is a link" : strerror(errno));
}

static bool check_file(const char *path, bool own, const struct stat *st,
                       size_t limit, Fault *why)
{
    if (!S_ISREG(st->st_mode))
        return fault(why, ExitIO, "%s: is not a regular file", path);
    if (own && !is_ours(st))
        return fault(why, ExitIO,
                     "%s: is not used, since others can write "
                     "it: chown it to you, chmod go-w",
                     path);
    if ((uintmax_t)st->st_size > limit)
        return fault(why, ExitInput,
                     "%s: has %lld bytes, at most %zu are "
                     "read: move it away",
                     path, (long long)st->st_size, limit);
    return true;
}

bool user_dir_read(Arena *a, const char *path, size_t limit, const char **at,
                   size_t *n, Fault *why)
{
    struct stat st;
    const bool own = user_dir_has(a, path);
    const int link = own ? O_NOFOLLOW : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | link);
    *at = "";
    *n = 0;
    if (fd < 0)
        return errno == ENOENT || cannot_read(path, why);
    bool ok = fstat(fd, &st) == 0
                ? check_file(path, own, &st, limit, why)
                      && guard_read(&st, path, UseRecords, why)
                : cannot_read(path, why);
    if (ok) {
        char *to = arena_alloc(a, (size_t)st.st_size + 1);
        *at = to;
        *n = (size_t)st.st_size;
        ok = read_all(fd, to, *n) || cannot_read(path, why);
    }
    close(fd);
    return ok;
}
