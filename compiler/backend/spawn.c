/* spawn.c: runs other programs: C compilers and Python. There is no shell: argv
 * is passed unchanged. The environment is built from scratch, because variables
 * such as CPATH and CCC_OVERRIDE_OPTIONS change what a compiler does. Python
 * gets the complete environment, because variables such as PYTHONPATH locate
 * its packages. The input is an unnamed file on stdin. TMPDIR is a directory
 * made for the program, so that nothing is left behind however the program
 * ends. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/progress.h"

/* ---- environment ---- */

/* Returns "NAME=value" from attnc's environment, or NULL if unset. */
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

/* ---- talking ---- */
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

/* Appends text to `to`, and drops bytes from the front to stay within `cap`. */
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

/* Reads once from a pipe of the child. Returns false if the child has closed
 * it. */
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

/* Ends a process group: SIGTERM first, because compilers then remove their
 * files; SIGKILL after a second. */
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

/* Starts a child process. If temp->path is empty, the child gets no TMPDIR. */
static int start(pid_t *pid, const char *const *argv, const int fds[3],
                 const TempFolder *temp, bool as_user)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, restored;
    char *env[5], tmpdir[sizeof temp->path + sizeof "TMPDIR="];
    snprintf(tmpdir, sizeof tmpdir, "TMPDIR=%s", temp->path);
    build_environment(env, temp->path[0] ? tmpdir : "");
    sigemptyset(&none);
    sigemptyset(&restored);
    sigaddset(&restored, SIGPIPE);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < 3; i++)
        posix_spawn_file_actions_adddup2(&files, fds[i], i);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &restored);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP
                                        | POSIX_SPAWN_SETSIGMASK
                                        | POSIX_SPAWN_SETSIGDEF);
    int rc = posix_spawn(pid, argv[0], &files, &attr, (char *const *)argv,
                         as_user ? environ : env);
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

/* ---- several at once ---- */
typedef struct { /* a running program */
    SpawnJob *job;
    pid_t pid;
    int fd[2];     /* pipes of stderr and stdout; -1: closed */
    int64_t until; /* end of its time limit, on the clock of now_ms() */
    TempFolder temp;
} Running;

static void leave(Running *r)
{
    interrupt_leaves(r->pid);
    temp_close(&r->temp);
    close_all(r->fd, 2);
}

/* True if the error means lack of space. The input is a file, so a limit on
 * file sizes (ulimit -f) counts too. */
static bool out_of_space(int error)
{
    return error == EFBIG || error == ENOSPC || error == EDQUOT;
}

static bool begin(Running *r, SpawnJob *j, const SpawnLimits *l)
{
    int out[2] = { -1, -1 }, err[2] = { -1, -1 };
    int in = input_file(j->input, j->input_bytes);
    *r = (Running){ .job = j };
    memset(&j->messages, 0, sizeof j->messages);
    if (in < 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
        close_all((int[]){ in, out[0], out[1], err[0], err[1] }, 5);
        return fault(&j->why, out_of_space(errno) ? ExitIO : ExitResource,
                     "cannot talk to %s: %s", j->argv[0], strerror(errno));
    }
    temp_open(&r->temp, l->folder);
    int to = l->out_fd >= 0 ? l->out_fd : out[1];
    int rc = start(&r->pid, j->argv, (int[]){ in, to, err[1] }, &r->temp,
                   l->as_user);
    close_all((int[]){ in, out[1], err[1] }, 3);
    r->fd[0] = err[0];
    r->fd[1] = out[0];
    j->begin = now_ms();
    r->until = j->begin
             + (int64_t)((j->seconds > 0 ? j->seconds : l->seconds) * 1000);
    if (rc == 0) {
        interrupt_takes(r->pid);
        return true;
    }
    r->pid = 0;
    leave(r);
    return fault(&j->why, ExitBackend, "cannot start %s: %s", j->argv[0],
                 strerror(rc));
}

/* Reads the programs' output. Returns false if there is none at the moment. */
static bool listen(Running *r, int n, int wait_ms)
{
    struct pollfd p[2 * SpawnMost];
    for (int i = 0; i < 2 * n; i++)
        p[i] = (struct pollfd){ .fd = r[i / 2].fd[i % 2], .events = POLLIN };
    if (poll(p, (nfds_t)(2 * n), wait_ms) <= 0)
        return false;
    for (int i = 0; i < 2 * n; i++) {
        int *fd = &r[i / 2].fd[i % 2];
        if (!p[i].revents || *fd < 0
            || listen_once(&r[i / 2].job->messages, *fd, i % 2 == 0))
            continue;
        close(*fd);
        *fd = -1;
    }
    return true;
}

/* Returns true if the program has ended by itself, at its time limit, or by a
 * signal. Does not wait for its pipes to close, because a grandchild may keep
 * them open. */
static bool has_ended(Running *r, double seconds)
{
    SpawnJob *j = r->job;
    int status = 0;
    if (waitpid(r->pid, &status, WNOHANG) == r->pid) {
        for (int i = 0; i < 64 && listen(r, 1, 0); i++)
            ; /* 64 reads are enough to empty a full pipe */
        kill(-r->pid, SIGKILL);
        j->ok = judge(j->argv[0], status, &j->why);
        j->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    } else if (interrupted() || now_ms() > r->until) {
        end_group(r->pid);
        j->late = !interrupted();
        j->ok = interrupted()
                  ? fault(&j->why, ExitBackend, "%s was stopped", j->argv[0])
                  : fault(&j->why, ExitBackend,
                          "%s ran longer than %g s and was "
                          "stopped",
                          j->argv[0], j->seconds > 0 ? j->seconds : seconds);
    } else {
        return false;
    }
    j->took = 1e-3 * (double)(now_ms() - j->begin);
    leave(r);
    return true;
}

/* Returns true if any program still has an open pipe. */
static bool any_open(const Running *r, int n)
{
    for (int i = 0; i < n; i++)
        if (r[i].fd[0] >= 0 || r[i].fd[1] >= 0)
            return true;
    return false;
}

void spawn_all(SpawnJob *jobs, int n, const SpawnLimits *l)
{
    const int most = l->at_once < SpawnMost ? l->at_once : SpawnMost;
    Arena *a = arena_new();
    Running *running = arena_alloc(a, (size_t)most * sizeof *running);
    int next = 0, now = 0;
    interrupt_watch();
    while (next < n || now > 0) {
        while (next < n && now < most && !interrupted()) {
            SpawnJob *j = &jobs[next++];
            j->ok = j->late = false;
            now += begin(&running[now], j, l);
        }
        for (; next < n && interrupted(); next++)
            jobs[next].ok = fault(&jobs[next].why, ExitBackend,
                                  "%s was stopped", jobs[next].argv[0]);
        listen(running, now, any_open(running, now) ? 20 : 2);
        progress_tick();
        for (int i = 0; i < now; i++)
            if (has_ended(&running[i], l->seconds))
                running[i--] = running[--now];
    }
    interrupt_end();
    arena_free(a);
}

bool spawn(Spawned *s, const char *const *argv, const char *input,
           size_t input_bytes, int seconds, Fault *why)
{
    SpawnJob job = { .argv = argv, .input = input, .input_bytes = input_bytes };
    spawn_all(&job, 1,
              &(SpawnLimits){ .at_once = 1, .seconds = seconds, .out_fd = -1 });
    *s = job.messages;
    if (!job.ok)
        *why = job.why;
    return job.ok;
}
