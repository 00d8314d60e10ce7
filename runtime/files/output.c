/* output.c: writes files that appear complete or not at all. Bytes go to
 * .NAME.tmp.PID.RANDOM in the target's folder. When all are written, fsync and
 * rename put the file in place. Every failure, and a signal that ends the
 * process, removes an unfinished file. "-" is stdout, which receives bytes
 * immediately, as do pipes, /dev/null and the descriptors in /dev/fd. */
#define _GNU_SOURCE /* getentropy, sync_file_range */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/options/descriptor.h"
#include "runtime/rt.h"

/* ---- temporary files, signals ---- */
enum { MaxTemps = 16 };

/* The unfinished files of all threads of this process. The table is static
 * because the handlers that remove the files, at signals and at exit, have no
 * argument for it, and because outputs_hold() applies to the files of all
 * modules. */
static struct {
    _Atomic(const char *) temp[MaxTemps]; /* names of temporary files; NULL: a
                                           * free slot */
    pid_t writer;             /* the process that writes them; its children do
                               * not remove them */
    bool holding;             /* set by outputs_hold(): committed files wait in
                               * `pending` */
    Output pending[MaxTemps]; /* [slots]: outputs that wait */
    int n_pending;
    void (*_Atomic on_signal)(void); /* set by call_on_signal(); NULL: none */
} unfinished;

static bool remember(const char *temp)
{
    for (int i = 0; i < MaxTemps; i++) {
        const char *none = NULL;
        if (atomic_compare_exchange_strong(&unfinished.temp[i], &none, temp))
            return true;
    }
    return false;
}

/* Replaces an entry of the table by `by`, a copy of the same name or NULL. */
static void replace(const char *temp, const char *by)
{
    for (int i = 0; i < MaxTemps; i++)
        if (atomic_load(&unfinished.temp[i]) == temp)
            atomic_store(&unfinished.temp[i], by);
}

static void forget(const char *temp)
{
    replace(temp, NULL);
}

/* Removes all temporary files. Makes only calls that are safe in a signal
 * handler. */
static void remove_temps(void)
{
    for (int i = 0; i < MaxTemps; i++) {
        const char *temp = atomic_load(&unfinished.temp[i]);
        if (temp)
            unlink(temp);
    }
}

/* Removes the files and raises the signal again. SA_RESETHAND has restored the
 * default action, which is executed when this handler returns. */
static void on_signal(int sig)
{
    void (*const also)(void) = atomic_load(&unfinished.on_signal);
    if (also)
        also();
    remove_temps();
    raise(sig);
}

/* Removes the files at exit(), for example after an out-of-memory error. */
static void on_exit_early(void)
{
    if (getpid() == unfinished.writer)
        remove_temps();
}

void call_on_signal(void (*f)(void))
{
    atomic_store(&unfinished.on_signal, f);
}

void files_on_signal(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction act = { .sa_handler = on_signal,
                             .sa_flags = (int)SA_RESETHAND };
    sigemptyset(&act.sa_mask);
    unfinished.writer = getpid();
    atexit(on_exit_early);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction old;
        /* a signal that was ignored before, as under nohup, stays ignored */
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &act, NULL);
    }
    signal(SIGXFSZ, SIG_IGN); /* writes beyond the limit fail with EFBIG */
}

/* ---- outputs ---- */
bool is_stdout(const char *path)
{
    return path && attn_descriptor(path) == STDOUT_FILENO;
}

/* True if the path is a pipe or a character device, such as a terminal or
 * /dev/null. These get bytes immediately and are never replaced. Disks do not
 * count.                                                                    */
static bool is_pipe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0
        && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

bool is_stream(const char *path)
{
    return path && (attn_descriptor(path) >= 0 || is_pipe(path));
}

/* If an earlier write failed, errno may have been changed by another call.
 * Writing one more byte sets it to the reason. */
bool stream_flush(FILE *to, Fault *why)
{
    const bool lost = ferror(to);
    errno = EIO; /* the reason, if that byte can be written */
    if (lost) {
        clearerr(to);
        fputc('\n', to);
    }
    if (fflush(to) == 0 && !lost)
        return true;
    return fault(why, ExitIO, "cannot write to stdout: %s", strerror(errno));
}

static bool cannot_write(Output *o, Fault *why)
{
    int code = errno == EMFILE || errno == ENFILE ? ExitResource : ExitIO;
    if (is_stdout(o->path))
        fault(why, code, "cannot write to stdout: %s", strerror(errno));
    else
        fault(why, code, "%s: cannot write: %s", o->path, strerror(errno));
    output_cancel(o);
    return false;
}

/* instead of stdout; take NULL: stdout itself */
static _Thread_local struct {
    OutputTake *take;
    void *with;
} taker;

void output_stdout_to(OutputTake *take, void *with)
{
    taker.take = take;
    taker.with = with;
}

/* Opens a stream. If the path names a descriptor, it is duplicated, so that
 * closing the Output leaves it open. For stdout, flushes earlier text first. */
static bool open_stream(Output *o, const char *path, Fault *why)
{
    const int fd = attn_descriptor(path);
    snprintf(o->path, sizeof o->path, "%s", path);
    if (fd == STDOUT_FILENO && taker.take)
        return true;
    if (fd == STDOUT_FILENO && !stream_flush(stdout, why))
        return false;
    o->fd = fd < 0 ? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
                   : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return o->fd >= 0 || cannot_write(o, why);
}

/* Sets o->path, the final place of the file, and follows symbolic links.
 * Rejects a path that is not a regular file, because rename would replace
 * it. */
static bool set_path(Output *o, const char *path, Fault *why)
{
    struct stat st;
    char real[PATH_MAX];
    if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && guard_place(path, real))
        path = real;
    if (strlen(path) >= sizeof o->path)
        return fault(why, ExitIO, "%.80s...: cannot write: %s", path,
                     strerror(ENAMETOOLONG));
    strcpy(o->path, path);
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
        return fault(why, ExitIO, "%s: cannot write: %s", path,
                     S_ISDIR(st.st_mode) ? "is a folder"
                                         : "is not a regular file");
    return true;
}

/* Returns the length of the folder in o->path, including its last slash. */
static int folder_length(const Output *o)
{
    const char *slash = strrchr(o->path, '/');
    return slash ? (int)(slash + 1 - o->path) : 0;
}

/* The name is truncated, because a temporary name may have at most 255
 * bytes. */
#define TEMP_NAME ".%.200s.tmp."

static bool set_temp(Output *o)
{
    uint64_t random;
    int folder = folder_length(o);
    if (getentropy(&random, sizeof random) != 0)
        return false;
    int n = snprintf(o->temp, sizeof o->temp, "%.*s" TEMP_NAME "%ld.%016llx",
                     folder, o->path, o->path + folder, (long)getpid(),
                     (unsigned long long)random);
    errno = ENAMETOOLONG;
    return n > 0 && (size_t)n < sizeof o->temp;
}

bool output_open(Output *o, const char *path, Fault *why)
{
    return output_open_for(UseInput, o, path, why);
}

bool output_open_for(FileUse use, Output *o, const char *path, Fault *why)
{
    o->fd = -1;
    o->use = use;
    o->temp[0] = '\0';
    if (is_stream(path))
        return open_stream(o, path, why);
    if (!set_path(o, path, why) || !guard_write(o->path, use, why))
        return false;
    if (!set_temp(o))
        return cannot_write(o, why);
    if (!remember(o->temp))
        return fault(why, ExitResource,
                     "%s: more than %d files are being "
                     "written",
                     path, MaxTemps);
    o->fd = open(o->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (o->fd < 0) {
        forget(o->temp);
        o->temp[0] = '\0'; /* so that output_cancel() removes nothing */
        return cannot_write(o, why);
    }
    return true;
}

enum { Large = 16 << 20 };

/* Starts writing to the disk while later bytes are copied, so that fsync takes
 * less time. A failure does no harm. */
static void begin_writing(const Output *o)
{
#if defined SYNC_FILE_RANGE_WRITE
    sync_file_range(o->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#else
    (void)o;
#endif
}

bool output_write(Output *o, const void *data, size_t n, Fault *why)
{
    const char *from = data;
    if (o->fd < 0 && taker.take)
        return taker.take(taker.with, data, n, why);
    while (n > 0) {
        ssize_t done = write(o->fd, from, n < Large ? n : Large);
        if (done == Large)
            begin_writing(o);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return cannot_write(o, why);
        from += done;
        n -= (size_t)done;
    }
    return true;
}

/* Syncs the folder, because otherwise a crash may lose the file's name. Ignores
 * errors, because the file itself is complete. */
static void sync_folder(const Output *o)
{
    char folder[sizeof o->path];
    snprintf(folder, sizeof folder, "%.*s.", folder_length(o), o->path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static bool give_name(Output *o, Fault *why)
{
    if (!guard_write(o->path, o->use, why)) {
        output_cancel(o);
        return false;
    }
    if (rename(o->temp, o->path) != 0)
        return cannot_write(o, why);
    guard_written(o->path);
    forget(o->temp);
    o->temp[0] = '\0';
    return true;
}

static bool put_in_place(Output *o, Fault *why)
{
    if (!give_name(o, why))
        return false;
    sync_folder(o);
    return true;
}

bool output_commit_unsynced(Output *o, Fault *why)
{
    int fd = o->fd;
    o->fd = -1;
    if (close(fd) != 0)
        return cannot_write(o, why);
    return !o->temp[0] || give_name(o, why);
}

bool output_commit(Output *o, Fault *why)
{
    const bool file = o->temp[0];
    if (file && fsync(o->fd) != 0)
        return cannot_write(o, why);
    int fd = o->fd;
    o->fd = -1;
    if (fd >= 0 && close(fd) != 0)
        return cannot_write(o, why);
    if (!file)
        return true;
    if (!unfinished.holding)
        return put_in_place(o, why);
    Output *h = &unfinished.pending[unfinished.n_pending++];
    *h = *o;
    replace(o->temp, h->temp);
    return true;
}

void output_cancel(Output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
    if (o->temp[0]) {
        unlink(o->temp);
        forget(o->temp);
    }
    o->temp[0] = '\0';
}

static void remove_old(int folder, const char *name)
{
    struct stat st;
    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0
        && S_ISREG(st.st_mode) && st.st_uid == geteuid()
        && time(NULL) - st.st_mtime > 3600)
        unlinkat(folder, name, 0);
}

void outputs_sweep(const char *path)
{
    char folder[PATH_MAX], begin[256];
    const char *slash = strrchr(path, '/');
    const int n = slash ? (int)(slash + 1 - path) : 0;
    snprintf(folder, sizeof folder, "%.*s.", n, path);
    snprintf(begin, sizeof begin, TEMP_NAME, path + n);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, begin, strlen(begin)) == 0)
            remove_old(dirfd(d), e->d_name);
    if (d)
        closedir(d);
}

void outputs_hold(void)
{
    unfinished.holding = true;
}

bool outputs_release(bool keep, Fault *why)
{
    for (int i = 0; i < unfinished.n_pending; i++)
        if (keep)
            keep = put_in_place(&unfinished.pending[i], why);
        else
            output_cancel(&unfinished.pending[i]);
    unfinished.holding = false;
    unfinished.n_pending = 0;
    return keep;
}

/* True if the file already has exactly these bytes. */
static bool unchanged(const char *path, const void *data, size_t n)
{
    File old;
    Fault ignored;
    if (!file_read_for(UseOwn, &old, path, n, &ignored))
        return false;
    bool same = old.size == n && memcmp(old.at, data, n) == 0;
    file_close(&old);
    return same;
}

bool output_commit_changed(Output *o, Fault *why)
{
    File made;
    bool same = false;
    if (o->temp[0] && file_map(&made, o->temp, why)) {
        same = unchanged(o->path, made.at, made.size);
        file_close(&made);
    }
    if (!same)
        return output_commit(o, why);
    output_cancel(o);
    return true;
}

bool write_file(const char *path, const void *data, size_t n, Fault *why)
{
    return write_file_for(UseInput, path, data, n, why);
}

bool write_file_for(FileUse use, const char *path, const void *data, size_t n,
                    Fault *why)
{
    if (!is_stream(path) && unchanged(path, data, n)) {
        guard_written(path);
        return true;
    }
    Output o;
    return output_open_for(use, &o, path, why) && output_write(&o, data, n, why)
        && output_commit(&o, why);
}
