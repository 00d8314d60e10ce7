/* changes.c: reports changed files by inotify. A watched path is a list of
 * (directory, name) pairs: one for the file, one for each symbolic link on the
 * way, and one for a missing directory. inotify events consist of a directory
 * and a name. If they match a pair, the path may have changed. */
#define _XOPEN_SOURCE 700 /* lstat, readlink */
#include "cli/command/changes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined __linux__
#include <sys/inotify.h>

enum { MostLinks = 40 };

typedef struct {              /* a name in a watched directory */
    int folder;               /* watch descriptor of the directory */
    const char *name, *whole; /* name in the directory; path of this file,
                               * relative to the same directory as the watched
                               * path */
    int path;                 /* index of the watched path that contains it */
} Place;

struct Changes {
    Arena *arena;
    int fd;
    VEC(const char *) paths;
    VEC(Place) places;
    Arena *of_places, *spare; /* arenas of `places` and of the next list of
                               * places; changes_renew() swaps them */
};

static const uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM
                             | IN_DELETE | IN_CREATE | IN_DELETE_SELF
                             | IN_MOVE_SELF | IN_ONLYDIR;

/* ---- messages ---- */
static long limit_of(const char *name)
{
    char path[128];
    long n = -1;
    snprintf(path, sizeof path, "/proc/sys/fs/inotify/%s", name);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%ld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

static bool too_few(Fault *why, const char *what, const char *limit)
{
    return fault(why, ExitResource,
                 "no more %s of inotify for this user: raise the limit, which "
                 "is %ld (sysctl fs.inotify.%s=N), or end other programs that "
                 "watch files",
                 what, limit_of(limit), limit);
}

static bool cannot_watch(Fault *why, const char *what)
{
    return fault(why, ExitIO, "%s: changes of files can't be watched here: %s",
                 what, strerror(errno));
}

/* ---- folders ---- */
typedef struct {
    Changes *c;
    int path, links;
    Fault *why;
    bool failed;
    char folder[PATH_MAX]; /* the directory reached so far; "": current
                            * directory */
} Walk;

static bool add_place(Walk *w, const char *name, const char *whole)
{
    Changes *c = w->c;
    const char *folder = *w->folder ? w->folder : ".";
    const int n = inotify_add_watch(c->fd, folder, events);
    if (n < 0) {
        /* not an error if the directory was just removed, because its parent
         * reports that */
        w->failed = errno != ENOENT && errno != ENOTDIR && errno != EACCES;
        if (w->failed && errno == ENOSPC)
            too_few(w->why, "watches", "max_user_watches");
        else if (w->failed)
            cannot_watch(w->why, folder);
        return false;
    }
    const Place p = { n, arena_strdup(c->of_places, name),
                      arena_strdup(c->of_places, whole), w->path };
    vec_push(c->of_places, &c->places, p);
    return true;
}

/* Appends a name to `folder`. Returns false if the path is too long. */
static bool enter(Walk *w, const char *name)
{
    const size_t n = strlen(w->folder);
    const char *slash = n && w->folder[n - 1] != '/' ? "/" : "";
    const int bytes = snprintf(w->folder + n, sizeof w->folder - n, "%s%s",
                               slash, name);
    return bytes >= 0 && (size_t)bytes < sizeof w->folder - n;
}

static bool walk(Walk *w, const char *path);

/* Replaces the link at the end of `folder` with its target, which is relative
 * to the link's directory. */
static bool follow(Walk *w, size_t before, const char *rest)
{
    char text[PATH_MAX], target[2 * PATH_MAX];
    const ssize_t n = readlink(w->folder, text, sizeof text - 1);
    if (n < 0 || w->links++ == MostLinks)
        return false;
    text[n] = '\0';
    w->folder[before] = '\0';
    snprintf(target, sizeof target, "%s%s%s", text, *rest ? "/" : "", rest);
    return walk(w, target);
}

/* Watches all components of a path. Returns false if one is missing. */
static bool walk(Walk *w, const char *path)
{
    if (*path == '/')
        strcpy(w->folder, "/");
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        char name[PATH_MAX];
        struct stat st;
        const size_t n = strcspn(path, "/"), before = strlen(w->folder);
        if (n >= sizeof name)
            return false;
        memcpy(name, path, n);
        name[n] = '\0';
        path += n;
        char in[PATH_MAX];
        strcpy(in, w->folder);
        if (!enter(w, name))
            return false;
        const bool there = lstat(w->folder, &st) == 0;
        const bool last = !path[strspn(path, "/")];
        const bool link = there && S_ISLNK(st.st_mode);
        if (!there || link || last) {
            char whole[PATH_MAX];
            strcpy(whole, w->folder);
            strcpy(w->folder, in);
            if (!add_place(w, name, whole))
                return false;
            strcpy(w->folder, whole);
        }
        if (link)
            return follow(w, before, path + strspn(path, "/"));
        if (!there)
            return false;
    }
    return true;
}

static bool add_path(Changes *c, int path, Fault *why)
{
    Walk w = { .c = c, .path = path, .why = why };
    walk(&w, c->paths.at[path]);
    return !w.failed;
}

/* ---- public ---- */
Changes *changes_open(Arena *a, Fault *why)
{
    const int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE)
            too_few(why, "instances", "max_user_instances");
        else
            cannot_watch(why, "inotify");
        return NULL;
    }
    Changes *c = arena_alloc(a, sizeof *c);
    c->arena = a;
    c->of_places = arena_new();
    c->spare = arena_new();
    c->fd = fd;
    return c;
}

void changes_close(Changes *c)
{
    if (!c)
        return;
    close(c->fd);
    arena_free(c->of_places);
    arena_free(c->spare);
}

int changes_fd(const Changes *c)
{
    return c->fd;
}

bool changes_add(Changes *c, const char *path, Fault *why)
{
    for (int i = 0; i < c->paths.n; i++)
        if (strcmp(c->paths.at[i], path) == 0)
            return true;
    vec_push(c->arena, &c->paths, arena_strdup(c->arena, path));
    return add_path(c, c->paths.n - 1, why);
}

bool changes_renew(Changes *c, Fault *why)
{
    const Place *old = c->places.at;
    const int before = c->places.n;
    Arena *const of_old = c->of_places;
    memset(&c->places, 0, sizeof c->places);
    c->of_places = c->spare;
    c->spare = of_old;
    bool done = true;
    for (int i = 0; done && i < c->paths.n; i++)
        done = add_path(c, i, why);
    for (int i = 0; done && i < before; i++) {
        bool used = false;
        for (int k = 0; k < c->places.n; k++)
            used |= c->places.at[k].folder == old[i].folder;
        if (!used) /* harmless if the directory no longer exists */
            inotify_rm_watch(c->fd, old[i].folder);
    }
    arena_reset(of_old);
    return done;
}

/* Returns false if the file may still be being written: a new regular file is
 * complete when it is closed, but a link, hard link or directory
 * immediately. */
static bool is_whole(const Place *p)
{
    struct stat st;
    return lstat(p->whole, &st) != 0 || !S_ISREG(st.st_mode) || st.st_nlink > 1;
}

static void take_event(Changes *c, const struct inotify_event *e, Changed *to)
{
    const bool folder = e->mask & (IN_DELETE_SELF | IN_MOVE_SELF);
    const bool all = e->mask & IN_Q_OVERFLOW;
    for (int i = 0; i < c->places.n; i++) {
        const Place *p = &c->places.at[i];
        if (!all
            && (p->folder != e->wd
                || (!folder && (!e->len || strcmp(e->name, p->name)))))
            continue;
        if ((e->mask & IN_CREATE) && !is_whole(p))
            continue;
        to->gone = folder || (e->mask & (IN_DELETE | IN_MOVED_FROM));
        if (!to->path)
            to->path = c->paths.at[p->path];
    }
}

Changed changes_read(Changes *c)
{
    _Alignas(struct inotify_event) char block[16384];
    Changed to = { 0 };
    ssize_t n;
    while ((n = read(c->fd, block, sizeof block)) > 0)
        for (char *at = block; at < block + n;) {
            const struct inotify_event *e = (const void *)at;
            take_event(c, e, &to);
            at += sizeof *e + e->len;
        }
    return to;
}

#else /* systems without inotify */

Changes *changes_open(Arena *a, Fault *why)
{
    (void)a;
    fault(why, ExitIO, "this system has no inotify: files can't be watched");
    return NULL;
}

void changes_close(Changes *c)
{
    (void)c;
}

int changes_fd(const Changes *c)
{
    (void)c;
    return -1;
}

bool changes_add(Changes *c, const char *path, Fault *why)
{
    (void)c;
    (void)path;
    (void)why;
    return false;
}

bool changes_renew(Changes *c, Fault *why)
{
    (void)c;
    (void)why;
    return false;
}

Changed changes_read(Changes *c)
{
    (void)c;
    return (Changed){ 0 };
}

#endif
