/* file.c: reads and writes the file of tuning records. Anyone may read the file
 * at any time; one writer at a time replaces it. A writer locks FILE.lock,
 * which is never removed. It does not lock FILE, because that lock would stay
 * with the old file after a rename. */
#define _GNU_SOURCE /* flock, O_NOFOLLOW */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/user_dir.h"
#include "machine/machine.h"
#include "records/records.h"

enum { FileMost = 16 << 20 }; /* maximum size of the file in bytes */
#define LOCK_SECONDS 10.0

const char *records_path(Arena *a, const char *option)
{
    const char *folder = option ? NULL : user_dir(a);
    return folder ? arena_printf(a, "%s/tune.txt", folder) : option;
}

/* ---- reading ---- */
typedef struct {
    const char *at;
    size_t n;
} Bytes;

typedef struct {     /* the lines that are not valid records */
    int first;       /* number of the first such line, from 1; 0: none */
    const char *why; /* description of the first error */
    int broken;      /* number of such lines */
} Passed;

static void read_line(Records *r, Arena *a, Passed *p, int number,
                      const char *line, size_t n)
{
    Record record;
    const char *why;
    const LineKind kind = record_parse(&record, a, line, n, &why);
    if (kind == LineRecord) {
        vec_push(a, &r->at, record);
        return;
    }
    if (!p->first)
        *p = (Passed){ .first = number, .why = why };
    r->passed_over++;
    p->broken += kind == LineBroken;
    if (kind == LineForeign)
        vec_push(a, &r->foreign, arena_strndup(a, line, n));
}

static bool read_lines(Records *r, Arena *a, const char *path, Bytes *file,
                       Passed *p, Fault *why)
{
    *r = (Records){ .passed_over = 0 };
    *p = (Passed){ .first = 0 };
    if (!user_dir_read(a, path, FileMost, &file->at, &file->n, why))
        return false;
    const char *at = file->at, *end = at + file->n;
    for (int number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        if (stop > at)
            read_line(r, a, p, number, at, (size_t)(stop - at));
        at = stop + (newline != NULL);
    }
    return true;
}

bool records_read(Records *r, Arena *a, const char *path, Fault *why)
{
    Passed p;
    Bytes file;
    *r = (Records){ .passed_over = 0 };
    if (!path)
        return true;
    if (!read_lines(r, a, path, &file, &p, why))
        return false;
    if (p.first)
        warning_once("%s:%d: %s: %s passed over", quote(path), p.first, p.why,
                     r->passed_over == 1
                         ? "it is"
                         : arena_printf(a, "%d lines are", r->passed_over));
    return true;
}

bool records_named(Records *r, Arena *a, const char *path, Fault *why)
{
    return access(path, F_OK) == 0
             ? records_read(r, a, path, why)
             : fault(why, ExitIO, "%s: cannot read: %s", path, strerror(errno));
}

/* ---- lock ---- */
static void pause_10_ms(void)
{
    const struct timespec t = { .tv_nsec = 10000000 };
    nanosleep(&t, NULL);
}

/* Writes the id of this process to the lock file. */
static void sign(int fd)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return; /* ignores errors; without the id, a message is less detailed */
}

static bool still_held(int fd, const char *lock, double seconds, Fault *why)
{
    char pid[16] = "";
    if (pread(fd, pid, sizeof pid - 1, 0) < 0 || !*pid)
        strcpy(pid, "unknown");
    pid[strcspn(pid, "\n")] = '\0';
    return fault(why, ExitIO,
                 "%s: another attnc (process %s) holds the lock "
                 "for more than %g s: let it end, then try again",
                 lock, pid, seconds);
}

/* Waits for the lock. Continues without a lock if the file system does not
 * support it, as some network file systems. */
static bool wait_for(int fd, const char *lock, double seconds, Fault *why)
{
    const double end = seconds_now() + seconds;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            warning_once("%s: cannot lock (%s): let no other attnc write "
                         "these records meanwhile",
                         quote(lock), strerror(errno));
            return true;
        }
        if (seconds_now() > end)
            return still_held(fd, lock, seconds, why);
        pause_10_ms();
    }
    sign(fd);
    return true;
}

int records_lock(Arena *a, const char *path, double seconds, Fault *why)
{
    const char *lock = arena_printf(a, "%s.lock", path);
    struct stat st;
    int fd = open(lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                  0600);
    if (fd < 0) {
        fault(why, ExitIO,
              "%s: cannot write: %s; give another file by "
              "--records",
              lock, errno == ELOOP ? "it is a link" : strerror(errno));
        return -1;
    }
    bool ok = (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
           || fault(why, ExitIO, "%s: is not a regular file", lock);
    if (ok && wait_for(fd, lock, seconds, why))
        return fd;
    close(fd);
    return -1;
}

/* ---- writing ---- */

/* Sets the permissions that umask allows, except write access for others,
 * because a file that others can write is not trusted. */
static bool set_mode(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && fchmod(fd, st.st_mode & 0755) == 0;
}

/* Returns the text of a file that has these records. */
static Bytes lines_of(const Records *r, Arena *a)
{
    Buffer b = { .arena = a };
    buffer_add(&b, "", 0);
    for (int i = 0; i < r->foreign.n; i++)
        buffer_printf(&b, "%s\n", r->foreign.at[i]);
    for (int i = 0; i < r->at.n; i++)
        buffer_printf(&b, "%s\n", record_line(a, &r->at.at[i]));
    return (Bytes){ b.at, (size_t)b.n };
}

static bool replace(const char *path, Bytes by, Fault *why)
{
    Output o;
    Fault first;
    if (by.n > FileMost)
        return fault(why, ExitResource,
                     "%s: would have %zu bytes, at most "
                     "%d are read: attnc records prune",
                     path, by.n, (int)FileMost);
    bool ok = output_open_for(UseRecords, &o, path, &first)
           && output_write(&o, by.at, by.n, &first);
    if (ok && !set_mode(o.fd)) {
        fault(&first, ExitIO, "%s: cannot chmod: %s", path, strerror(errno));
        output_cancel(&o);
        ok = false;
    }
    return (ok && output_commit(&o, &first))
        || fault(why, first.code,
                 "%s; the records that were there are kept; "
                 "give another file by --records",
                 first.text);
}

static bool edit_locked(Arena *a, const char *path,
                        void edit(Records *r, Arena *a, void *with), void *with,
                        Fault *why)
{
    Records r;
    Passed p;
    Bytes old;
    if (!read_lines(&r, a, path, &old, &p, why))
        return false;
    edit(&r, a, with);
    outputs_sweep(path);
    const Bytes new = lines_of(&r, a);
    if (new.n == old.n && memcmp(new.at, old.at, old.n) == 0)
        return true; /* no record has changed */
    if (!replace(path, new, why))
        return false;
    if (p.broken)
        warning_at((Pos){ 0 },
                   "%s: %d line%s that %s cut or changed %s "
                   "removed",
                   quote(path), p.broken, p.broken == 1 ? "" : "s",
                   p.broken == 1 ? "was" : "were",
                   p.broken == 1 ? "is" : "are");
    return true;
}

bool records_edit(Arena *a, const char *path,
                  void edit(Records *r, Arena *a, void *with), void *with,
                  Fault *why)
{
    if (!path)
        return fault(why, ExitIO,
                     "there is no HOME to keep records in: give "
                     "a file by --records");
    if (user_dir_has(a, path))
        user_dir_make(a, user_dir(a));
    const int lock = records_lock(a, path, LOCK_SECONDS, why);
    const bool ok = lock >= 0 && edit_locked(a, path, edit, with, why);
    if (lock >= 0)
        close(lock);
    return ok;
}

typedef struct {
    const Record *record;
    int n;
} Added;

static void put_all(Records *r, Arena *a, void *with)
{
    const Added *added = with;
    for (int i = 0; i < added->n; i++)
        records_put(r, a, &added->record[i]);
}

bool records_add(Arena *a, const char *path, const Record *record, int n,
                 Fault *why)
{
    Added added = { record, n };
    return records_edit(a, path, put_all, &added, why);
}
