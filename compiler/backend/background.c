/* background.c: runs a C compiler in a background process, which is forked
 * before this process starts threads. The child has its own session, the lowest
 * priority, and no open file of this process except a pipe. So neither a reader
 * of this process's output nor an interrupt waits for the child. Each user runs
 * only one such compilation at a time; another child waits its turn until its
 * parent ends. */
#define _GNU_SOURCE /* pipe2, memfd_create, syscall */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/tier.h"
#include "base/progress.h"
#include "base/user_dir.h"

enum {
    Result = 3,
    MostFiles = 4096,
    MessageMost = 1024,
    FirstMs = 50,
    StopMs = 2000 /* between two signals */
};

/* ---- in the process ---- */

/* Closes all descriptors except the pipe, which becomes descriptor 3. Redirects
 * stderr to a file in memory. */
static void leave_files(int fd)
{
    const int none = open("/dev/null", O_RDWR);
    const int messages = memfd_create("messages", 0);
    fd = fcntl(fd, F_DUPFD, 10); /* a number that dup2() does not use below */
    dup2(none, 0);
    dup2(none, 1);
    dup2(messages >= 0 ? messages : none, 2);
    dup2(fd, Result);
    /* glibc has close_range() since 2.34, old kernels lack it */
    if (syscall(SYS_close_range, Result + 1, ~0U, 0) != 0)
        for (int i = Result + 1; i < MostFiles; i++)
            close(i);
    fcntl(Result, F_SETFD, FD_CLOEXEC);
}

static void detach(int fd)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGCHLD };
    sigset_t taken;
    child_begins();
    messages_to(NULL, NULL);
    progress_to(NULL, NULL);
    setsid();
    interrupts_on(); /* background_stop() ends the compiler by a signal */
    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], SIG_DFL);
        sigaddset(&taken, signals[i]);
    }
    sigprocmask(SIG_UNBLOCK, &taken, NULL);
    signal(SIGPIPE, SIG_IGN); /* writing to the pipe of a dead parent must not
                               * kill this process */
    setpriority(PRIO_PROCESS, 0, 19);
    leave_files(fd);
    progress_off();
}

/* Returns true if the parent has ended or closed the pipe. */
static bool is_alone(void)
{
    struct pollfd p = { .fd = Result };
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLERR | POLLHUP));
}

/* Waits FirstMs before compiling, so that a short run has the machine to itself
 * and may end first. */
static void wait_a_moment(void)
{
    poll(&(struct pollfd){ .fd = Result }, 1, FirstMs);
}

/* Waits for the lock, which this process then holds until it ends. Returns
 * false if the parent has ended or closed the pipe. */
static bool wait_for_turn(Arena *a)
{
    const char *path = arena_printf(a, "%s/background.lock", user_dir(a));
    const int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK)
            break; /* the file system has no locks */
        if (is_alone())
            return false;
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    }
    return true;
}

static bool keep_note(Arena *a, const BackgroundWork *w, CacheKey key,
                      const ObjectText *t, const char *about, Fault *why)
{
    const char *line = arena_printf(a, "%s%s", key.hex, about);
    CacheEntry e;
    if (!cache_get(&e, a, CacheObject, key, CacheSize))
        return fault(why, ExitIO, "the cache did not take the object");
    cache_close(&e);
    const CachePut put = {
        .kind = CacheNote,
        .key = w->note,
        .what = arena_printf(a, "object of %s", t->what),
        .at = line,
        .bytes = strlen(line),
    };
    return cache_put(a, &put, why) == CacheNew
        || fault(why, ExitIO, "the cache did not take its key");
}

/* Returns the line that keep_note() stored, if the object it names is still in
 * the cache; NULL otherwise. */
static const char *cached_note(Arena *a, const BackgroundWork *w)
{
    CacheEntry e;
    CacheKey key;
    if (!cache_get(&e, a, CacheNote, w->note, CacheVerified))
        return NULL;
    const char *line = arena_strndup(a, e.at, e.bytes);
    cache_close(&e);
    snprintf(key.hex, sizeof key.hex, "%s", line);
    if (!cache_get(&e, a, CacheObject, key, CacheSize))
        return NULL;
    cache_close(&e);
    return line;
}

/* Makes the text, compiles it, test-loads the object, and caches it. */
static bool make_object(Arena *a, const BackgroundWork *w, CacheKey *key,
                        const char **about, Fault *why)
{
    ObjectText text;
    Backend trial = { 0 };
    return w->text(w->with, a, &text, about, why)
        && objcache_load(a, &trial, &text, key, why)
        && keep_note(a, w, *key, &text, *about, why);
}

/* Returns the first line that the compiler printed, for use in a message. */
static const char *first_line(Arena *a)
{
    char text[512];
    const ssize_t n = pread(2, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return *text ? arena_printf(a, "; it said: %s", quote(text)) : "";
}

static void send(char sign, const char *text)
{
    char message[MessageMost];
    const int n = snprintf(message, sizeof message, "%c%s", sign, text);
    const size_t most = sizeof message - 1;
    if (write(Result, message, (size_t)n < most ? (size_t)n : most) < 0)
        return; /* the parent has ended, but the object is in the cache */
}

static void work(const BackgroundWork *w)
{
    Arena *a = arena_new();
    Fault why = { 0 };
    CacheKey key;
    const char *about = "";
    wait_a_moment();
    if (!wait_for_turn(a))
        return;
    const char *line = cached_note(a, w);
    if (line)
        send('=', line); /* another process has compiled it meanwhile */
    else if (make_object(a, w, &key, &about, &why))
        send('=', arena_printf(a, "%s%s", key.hex, about));
    else
        send('!', arena_printf(a, "%s%s", why.text, first_line(a)));
}

/* ---- from outside ---- */
bool background_start(Background *b, const BackgroundWork *w, Fault *why)
{
    int fd[2];
    *b = (Background){ .fd = -1 };
    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) != 0)
        return fault(why, ExitResource, "cannot make a pipe: %s",
                     strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) {
        detach(fd[1]);
        work(w);
        _exit(ExitDone);
    }
    close(fd[1]);
    if (pid < 0) {
        close(fd[0]);
        return fault(why, ExitResource, "cannot start a process: %s",
                     strerror(errno));
    }
    *b = (Background){ .fd = fd[0], .pid = pid };
    return true;
}

static bool say_end(Background *b, Fault *why)
{
    int status = 0;
    const bool known = waitpid((pid_t)b->pid, &status, 0) == b->pid;
    b->pid = 0;
    if (known && WIFSIGNALED(status))
        return fault(why, ExitBackend,
                     "the process that compiles was killed by signal %d (%s)",
                     WTERMSIG(status), strsignal(WTERMSIG(status)));
    return fault(why, ExitBackend, "the process that compiles ended early");
}

BackgroundEnd background_poll(Background *b, Arena *a, CacheKey *key,
                              const char **about, Fault *why)
{
    char m[MessageMost];
    const size_t digits = sizeof key->hex - 1;
    const ssize_t n = b->fd < 0 ? -1 : read(b->fd, m, sizeof m - 1);
    if (n < 0)
        return BackgroundWorks;
    m[n] = '\0';
    if (n == 0)
        say_end(b, why);
    background_leave(b);
    if (n > 0 && m[0] == '=' && strlen(m) > digits) {
        memcpy(key->hex, m + 1, digits);
        key->hex[digits] = '\0';
        *about = arena_strdup(a, m + 1 + digits);
        return BackgroundDone;
    }
    if (n > 0)
        fault(why, ExitBackend, "%s", m + 1);
    return BackgroundFailed;
}

void background_leave(Background *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
    background_reap(b);
}

bool background_reap(Background *b)
{
    if (b->pid > 0 && waitpid((pid_t)b->pid, NULL, WNOHANG) != 0)
        b->pid = 0;
    return b->pid == 0;
}

/* At SIGTERM the process ends its compiler, which takes a second if the
 * compiler ignores SIGTERM. At a second SIGTERM it kills the compiler and
 * itself. SIGKILL comes last, because it leaves the compiler running. A process
 * that has ended gets no signal, because its id may belong to another one. */
void background_stop(Background *b)
{
    static const int signals[] = { SIGTERM, SIGTERM, SIGKILL };
    background_leave(b);
    for (int i = 0; i < 3 && !background_reap(b); i++) {
        kill((pid_t)b->pid, signals[i]);
        for (int ms = 0; ms < StopMs && !background_reap(b); ms++)
            nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
    b->pid = 0;
}
