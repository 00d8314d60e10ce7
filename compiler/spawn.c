/* spawn.c: runs another program, C compilers and Graphviz's dot.
 *
 * No shell: argv as it is. The environment is built, since CPATH,
 * CCC_OVERRIDE_OPTIONS and the like change what a compiler makes. Input is an
 * anonymous file on its stdin, and what it makes in TMPDIR goes into a folder
 * of its own, so that nothing is left behind however it ends.               */
#define _GNU_SOURCE              /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend.h"

/* ------------------------------------------------ the child and signals --- */
static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
enum { Ends = sizeof ends / sizeof *ends };
static volatile sig_atomic_t child;      /* process group to take along */
static volatile sig_atomic_t stop;       /* the signal that came, or 0 */
static struct sigaction before[Ends];

/* Ctrl-C goes to attnc's group only. The first one makes attend() end, so that
 * the child is ended in order; a second one ends all at once, by the handler
 * that was there before.                                                    */
static void on_end(int sig)
{
    if (!stop) {
        stop = sig;
        return;
    }
    if (child > 0)
        kill(-child, SIGKILL);
    for (int i = 0; i < Ends; i++)
        if (ends[i] == sig)
            sigaction(sig, &before[i], NULL);
    raise(sig);
}

static void watch_signals(void)
{
    struct sigaction act = { .sa_handler = on_end };
    stop = 0;
    for (int i = 0; i < Ends; i++) {
        sigaction(ends[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &act, NULL);
    }
}

static void restore_signals(void)
{
    child = 0;
    for (int i = 0; i < Ends; i++)
        sigaction(ends[i], &before[i], NULL);
    if (stop)
        raise(stop);
}

/* ---------------------------------------------------------- environment --- */
/* "NAME=value" of ours, or NULL. */
static char *inherit(const char *name)
{
    size_t n = strlen(name);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e;
    return NULL;
}

static void build_environment(char *env[5], char *tmpdir)
{
    static const char *const kept[] = { "PATH", "HOME" };
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (inherit(kept[i]))
            env[n++] = inherit(kept[i]);
    if (*tmpdir)
        env[n++] = tmpdir;
    env[n++] = "LANG=C";
    env[n] = NULL;
}

/* The child's own folder for temporary files. */
typedef struct { char variable[4096], *path; } TempFolder;

/* Where none can be made, the child finds out what that means for it. */
static void make_folder(TempFolder *t)
{
    const char *in = getenv("TMPDIR");
    size_t room = sizeof t->variable;
    int n = snprintf(t->variable, room, "TMPDIR=%s/attnc-XXXXXX",
                     in && *in ? in : "/tmp");
    t->path = t->variable + strlen("TMPDIR=");
    if ((size_t)n >= room || !mkdtemp(t->path))
        t->variable[0] = '\0';
}

static int remove_entry(const char *path, const struct stat *st, int type,
                        struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    remove(path);
    return 0;
}

static void remove_folder(const TempFolder *t)
{
    if (t->variable[0])
        nftw(t->path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *find_program(Arena *a, const char *name)
{
    if (strchr(name, '/')) {
        char *full = realpath(name, NULL);
        char *path = full ? arena_strdup(a, full) : NULL;
        free(full);
        return path && access(path, X_OK) == 0 ? path : NULL;
    }
    const char *dirs = getenv("PATH");
    while (dirs && *dirs) {
        size_t n = strcspn(dirs, ":");
        char *path = arena_printf(a, "%.*s/%s", (int)n, dirs, name);
        if (*dirs == '/' && access(path, X_OK) == 0)
            return path;
        dirs += n + (dirs[n] == ':');
    }
    return NULL;
}

/* -------------------------------------------------------------- talking --- */
static int input_file(const char *text, size_t n)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    for (size_t done = 0; fd >= 0 && done < n;) {
        ssize_t w = write(fd, text + done, n - done);
        if (w < 0 && errno == EINTR)
            continue;
        if (w < 0) {
            close(fd);
            return -1;
        }
        done += (size_t)w;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static void close_all(const int *fd, int n)
{
    int error = errno;
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    errno = error;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Keeps the last bytes of a text that comes in pieces. */
static void keep_last(char *to, size_t cap, const char *from, size_t n)
{
    size_t have = strlen(to);
    if (have + n >= cap) {
        size_t drop = have + n - cap + 1;
        memmove(to, to + drop, have - drop + 1);
        have -= drop;
    }
    memcpy(to + have, from, n);
    to[have + n] = '\0';
}

static void keep_first(char *to, size_t cap, const char *from, size_t n)
{
    size_t have = strlen(to);
    if (n > cap - 1 - have)
        n = cap - 1 - have;
    memcpy(to + have, from, n);
    to[have + n] = '\0';
}

/* One read from a pipe of the child; false at its end. */
static bool listen_once(Spawned *s, int fd, bool is_stderr)
{
    char piece[2048];
    ssize_t n = read(fd, piece, sizeof piece);
    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < n; i++)
        if (piece[i] == '\0')
            piece[i] = '?';
    if (is_stderr)
        keep_last(s->tail, sizeof s->tail, piece, (size_t)n);
    else
        keep_first(s->out, sizeof s->out, piece, (size_t)n);
    return n > 0;
}

/* Listens until the child closes both pipes or has ended; its end is looked
 * for ten times a second, since a grandchild may keep the pipes open. False:
 * the time is over, or a signal came.                                       */
static bool attend(Spawned *s, pid_t pid, const int fd[2], int64_t until,
                   int *status)
{
    struct pollfd p[2] = { { .fd = fd[0], .events = POLLIN },
                           { .fd = fd[1], .events = POLLIN } };
    for (;;) {
        bool open = p[0].fd >= 0 || p[1].fd >= 0;
        int ready = poll(p, 2, open ? 100 : 2);
        for (int i = 0; ready > 0 && i < 2; i++)
            if (p[i].revents && !listen_once(s, p[i].fd, i == 0))
                p[i].fd = -1;
        if ((ready <= 0 || !open) && waitpid(pid, status, WNOHANG) == pid)
            return true;
        if (stop || now_ms() > until)
            return false;
    }
}

/* Compilers remove their own files on SIGTERM; what is there a second later
 * is killed.                                                                */
static void end_group(pid_t pid)
{
    bool reaped = false;
    kill(-pid, SIGTERM);
    for (int i = 0; i < 100 && kill(-pid, 0) == 0; i++) {
        reaped = reaped || waitpid(pid, NULL, WNOHANG) == pid;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    kill(-pid, SIGKILL);
    if (!reaped)
        waitpid(pid, NULL, 0);
}

static int start(pid_t *pid, const char *const *argv, const int fds[3],
                 TempFolder *temp)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;
    char *env[5];
    build_environment(env, temp->variable);
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&files, fds[i], i);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &usual);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawn(pid, argv[0], &files, &attr,
                         (char *const *)argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return rc;
}

static bool judge(const char *program, int status, Fault *why)
{
    if (WIFSIGNALED(status))
        return fault(why, ExitBackend, "%s was killed by signal %d (%s)",
                     program, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return fault(why, ExitBackend, "%s failed with exit code %d", program,
                     WEXITSTATUS(status));
    return true;
}

/* Waits for a started child and what it started. */
static bool finish(Spawned *s, pid_t pid, const char *name, const int fd[2],
                   int seconds, Fault *why)
{
    int status = 0;
    bool ended = attend(s, pid, fd, now_ms() + (int64_t)seconds * 1000,
                        &status);
    if (ended) {
        kill(-pid, SIGKILL);
        return judge(name, status, why);
    }
    end_group(pid);
    if (stop)
        return fault(why, ExitBackend, "%s was stopped", name);
    return fault(why, ExitBackend, "%s ran longer than %d s and was stopped",
                 name, seconds);
}

bool spawn_to(Spawned *s, const char *const *argv, const char *input,
              size_t input_bytes, int out_fd, int seconds, Fault *why)
{
    memset(s, 0, sizeof *s);
    int out[2] = { -1, -1 }, err[2] = { -1, -1 };
    int in = input_file(input, input_bytes);
    pid_t pid = -1;
    if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        close_all((int[]){ in, out[0], out[1], err[0], err[1] }, 5);
        return fault(why, ExitResource, "cannot talk to %s: %s", argv[0],
                     strerror(errno));
    }
    watch_signals();
    TempFolder temp;
    make_folder(&temp);
    int to = out_fd >= 0 ? out_fd : out[1];
    int rc = start(&pid, argv, (int[]){ in, to, err[1] }, &temp);
    close_all((int[]){ in, out[1], err[1] }, 3);
    child = rc == 0 ? (sig_atomic_t)pid : 0;
    bool ok = rc == 0 ? finish(s, pid, argv[0], (int[]){ err[0], out[0] },
                               seconds, why)
                      : fault(why, ExitBackend, "cannot start %s: %s",
                              argv[0], strerror(rc));
    remove_folder(&temp);
    restore_signals();
    close_all((int[]){ out[0], err[0] }, 2);
    return ok;
}

bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why)
{
    return spawn_to(s, argv, input, input_bytes, -1, seconds, why);
}
