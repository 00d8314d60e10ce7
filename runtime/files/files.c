/* files.c: reads and maps complete files. A name on a command line may be a
 * folder, a FIFO or a device. Only regular files are read, and opening any
 * other kind never blocks. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/rt.h"

static bool cannot(Fault *why, const char *path, const char *what)
{
    int code = errno == ENOMEM || errno == EMFILE || errno == ENFILE
                 ? ExitResource
                 : ExitIO;
    return fault(why, code, "%s: cannot %s: %s", path, what, strerror(errno));
}

/* ---- pages that vanished ---- */
enum { MaxMapped = 64 };

/* The mapped files of all threads; NULL: a free slot. The table is static
 * because the SIGBUS handler, which reports a truncated file, has no argument
 * for it. */
static _Atomic(const File *) mapped_files[MaxMapped];
static atomic_bool catches; /* files_catch_cuts() was called */

static bool watch(const File *f)
{
    if (!atomic_load(&catches))
        return true;
    for (int i = 0; i < MaxMapped; i++) {
        const File *none = NULL;
        if (atomic_compare_exchange_strong(&mapped_files[i], &none, f))
            return true;
    }
    return false;
}

static void unwatch(const File *f)
{
    for (int i = 0; i < MaxMapped; i++)
        if (atomic_load(&mapped_files[i]) == f)
            atomic_store(&mapped_files[i], NULL);
}

static void write_error(const char *text)
{
    /* if stderr is closed, nothing else can be done */
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* Handles a bus error, with async-signal-safe calls only: the table, write and
 * _exit. An error outside of the mapped files gets the default action. */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
    (void)context;
    const unsigned char *at = info->si_addr;
    for (int i = 0; i < MaxMapped; i++) {
        const File *f = atomic_load(&mapped_files[i]);
        if (f && at >= f->at && at < f->at + f->size) {
            write_error("attnc: error: ");
            write_error(f->path);
            write_error(": the file was cut while it was in use\n");
            _exit(ExitIO);
        }
    }
    signal(sig, SIG_DFL);
}

void files_catch_cuts(void)
{
    struct sigaction act = { .sa_sigaction = on_bus_error,
                             .sa_flags = SA_SIGINFO };
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, NULL);
    atomic_store(&catches, true);
}

/* ---- files in memory ---- */
typedef struct Given {
    struct Given *next;
    FILE *file; /* a temporary file without a name */
    char path[];
} Given;

static Given *all_given;

static const Given *find_given(const char *path)
{
    const Given *g = all_given;
    while (g && strcmp(g->path, path) != 0)
        g = g->next;
    return g;
}

bool file_given(const char *path)
{
    return find_given(path) != NULL;
}

enum { Piece = 1 << 20 }; /* bytes that a call of a FileRead is asked for */

/* Copies all bytes to a file. */
static bool store_all(FILE *to, const char *path, FileRead *read, void *with,
                      Fault *why)
{
    char *piece = malloc(Piece);
    int64_t at = 0, n = piece ? 1 : 0;
    bool good = piece != NULL;
    while (good && n > 0) {
        n = read(with, at, piece, Piece);
        good = n >= 0 && n <= Piece
            && fwrite(piece, 1, (size_t)n, to) == (size_t)n;
        at += good ? n : 0;
    }
    free(piece);
    if (n < 0 || n > Piece)
        return fault(why, ExitIO,
                     "%s: the function that reads them returned %lld at byte "
                     "%lld, where %d bytes were asked for",
                     path, (long long)n, (long long)at, (int)Piece);
    return (good && fflush(to) == 0)
        || cannot(why, path, "store in a temporary file");
}

bool file_give_read(const char *path, FileRead *read, void *with, Fault *why)
{
    Given *g = malloc(sizeof *g + strlen(path) + 1);
    if (!g)
        return cannot(why, path, "store in a temporary file");
    strcpy(g->path, path);
    g->file = tmpfile();
    g->next = all_given;
    if (!g->file)
        cannot(why, path, "store in a temporary file");
    else if (store_all(g->file, path, read, with, why)) {
        all_given = g;
        return true;
    } else
        fclose(g->file);
    free(g);
    return false;
}

typedef struct {
    const unsigned char *at;
    size_t n;
} Bytes;

static int64_t read_memory(void *with, int64_t at, void *to, int64_t size)
{
    const Bytes *b = with;
    const int64_t left = (int64_t)b->n - at, n = size < left ? size : left;
    if (n > 0)
        memcpy(to, b->at + at, (size_t)n);
    return n;
}

bool file_give(const char *path, const void *at, size_t n, Fault *why)
{
    Bytes b = { at, n };
    return file_give_read(path, read_memory, &b, why);
}

void files_forget_given(void)
{
    for (Given *g = all_given, *next; g; g = next) {
        next = g->next;
        fclose(g->file);
        free(g);
    }
    all_given = NULL;
}

/* ---- files ---- */
static const unsigned char nothing[1]; /* the contents of an empty file */

/* called with the path of each file that this process reads; NULL: no call */
static void (*on_read)(const char *path);

void files_on_read(void (*f)(const char *path))
{
    on_read = f;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static FileIdentity identity_of(const struct stat *st)
{
    return (FileIdentity){ (uint64_t)st->st_dev, (uint64_t)st->st_ino,
                           nanoseconds(st->st_mtim), nanoseconds(st->st_ctim) };
}

/* Opens a regular file and sets the path, size and identity of *f. Returns the
 * descriptor, or -1 with *why. */
static int open_regular(File *f, const char *path, FileUse use, Fault *why)
{
    const Given *given = find_given(path);
    if (on_read && !given)
        on_read(path);
    int fd = given ? fcntl(fileno(given->file), F_DUPFD_CLOEXEC, 0)
                   : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0) {
        if (errno == ENOENT && lstat(path, &st) == 0)
            fault(why, ExitIO, "%s: is a link to a file that is not there",
                  path);
        else
            cannot(why, path, "open");
        return -1;
    }
    if (fstat(fd, &st) != 0)
        cannot(why, path, "open");
    else if (S_ISDIR(st.st_mode))
        fault(why, ExitIO, "%s: is a folder, not a file", path);
    else if (!S_ISREG(st.st_mode))
        fault(why, ExitIO, "%s: is not a regular file", path);
    else if (guard_read(&st, path, use, why)) {
        *f = (File){ .path = path,
                     .at = nothing,
                     .size = (size_t)st.st_size,
                     .identity = identity_of(&st) };
        return fd;
    }
    close(fd);
    return -1;
}

/* Reads up to `size` bytes and returns their number, which is lower if the file
 * was truncated meanwhile. Returns -1, with errno, if reading fails. */
static ssize_t read_whole(int fd, unsigned char *to, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = pread(fd, to + done, size - done, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

bool file_is_itself(const char *path, const unsigned char *at, size_t n,
                    Fault *why)
{
    static const char pointer[] = "version https://git-lfs";

    if (n < sizeof pointer || memcmp(at, pointer, sizeof pointer - 1) != 0)
        return true;
    return fault(why, ExitInput,
                 "%s: is a pointer of Git LFS, the file itself is not here: "
                 "run `git lfs pull` in its folder",
                 path);
}

bool file_read_for(FileUse use, File *f, const char *path, size_t limit,
                   Fault *why)
{
    int fd = open_regular(f, path, use, why);
    if (fd < 0)
        return false;
    const size_t size = f->size;
    if (size > limit) {
        close(fd);
        return fault(why, ExitInput,
                     "%s: has %zu bytes, at most %zu are "
                     "allowed",
                     path, size, limit);
    }
    unsigned char *at = malloc(size + 1);
    ssize_t n = at ? read_whole(fd, at, size) : -1;
    if (n < 0)
        cannot(why, path, "read");
    close(fd);
    if (n < 0) {
        free(at);
        return false;
    }
    at[n] = '\0';
    f->at = at;
    f->size = (size_t)n;
    if (file_is_itself(path, f->at, f->size, why))
        return true;
    file_close(f);
    return false;
}

bool file_read(File *f, const char *path, size_t limit, Fault *why)
{
    return file_read_for(UseInput, f, path, limit, why);
}

bool file_map_for(FileUse use, File *f, const char *path, Fault *why)
{
    int fd = open_regular(f, path, use, why);
    if (fd < 0)
        return false;
    const size_t size = f->size;
    if (size == 0) { /* mmap rejects length 0 */
        close(fd);
        return true;
    }
    void *at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    bool done = at != MAP_FAILED || cannot(why, path, "map");
    close(fd);
    if (!done)
        return false;
    f->at = at;
    f->mapped = true;
    if (!watch(f)) {
        munmap(at, size);
        return fault(why, ExitResource, "%s: more than %d files are mapped",
                     path, MaxMapped);
    }
    if (file_is_itself(path, f->at, f->size, why))
        return true;
    file_close(f);
    return false;
}

bool file_map(File *f, const char *path, Fault *why)
{
    return file_map_for(UseInput, f, path, why);
}

void file_close(File *f)
{
    if (f->mapped) {
        unwatch(f);
        munmap((void *)f->at, f->size);
    } else if (f->at != nothing) {
        free((void *)f->at);
    }
    *f = (File){ 0 };
}

bool file_unchanged(const File *f)
{
    struct stat st;
    if (stat(f->path, &st) != 0)
        return true; /* the mapping is valid without the descriptor */
    const FileIdentity now = identity_of(&st);
    if (now.device != f->identity.device || now.inode != f->identity.inode)
        return true;
    return now.modified == f->identity.modified
        && (size_t)st.st_size == f->size;
}

size_t file_mark(const File *f)
{
    return f->size >= 3 && !memcmp(f->at, "\xef\xbb\xbf", 3) ? 3 : 0;
}
