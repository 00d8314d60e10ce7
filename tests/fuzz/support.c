/* support.c: shared by the fuzz targets (fuzz.h): jobs, files, inputs. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/user_dir.h"
#include "spec/spec.h"
#include "tokenizer/block.h"
#include "held.h"

static jmp_buf out;

void __real_exit(int code) __attribute__((noreturn));
void __wrap_exit(int code) __attribute__((noreturn));
int __wrap_posix_spawn(void);
int __wrap_fork(void);
int __wrap_fsync(void);
WRAP(int, access, const char *path, int mode);
WRAP(bool, file_read, File *f, const char *path, size_t limit, Fault *why);
WRAP(bool, file_map, File *f, const char *path, Fault *why);
WRAP(void, file_close, File *f);
WRAP(bool, user_dir_read, Arena *a, const char *path, size_t limit,
     const char **at, size_t *n, Fault *why);
WRAP(Spec *, spec_read, Arena *a, const char *path, const Source *text,
     const char *const *sets, int nsets);

/* No other program is started. */
int __wrap_posix_spawn(void)
{
    return EAGAIN;
}

int __wrap_fork(void)
{
    errno = EAGAIN;
    return -1;
}

/* Does nothing, because the disk is not under test. */
int __wrap_fsync(void)
{
    return 0;
}

void __wrap_exit(int code)
{
    if (!held_on())
        __real_exit(code);
    longjmp(out, code + 1);
}

/* ---- files ---- */
enum { MostFiles = 16 };
static struct {
    const char *path;
    const void *data;
    size_t n;
} file[MostFiles];
static int files;

void fuzz_file(const char *path, const void *data, size_t n)
{
    if (files == MostFiles)
        fuzz_wrong("more than %d files", MostFiles);
    file[files].path = path;
    file[files].data = data;
    file[files++].n = n;
}

void fuzz_files_clear(void)
{
    files = 0;
}

static int find_file(const char *path)
{
    for (int i = 0; i < files; i++)
        if (strcmp(file[i].path, path) == 0)
            return i;
    return -1;
}

/* Returns a copy with `more` zeros after it. */
static void *copy_of(int i, size_t more)
{
    char *at = malloc(file[i].n + more + !(file[i].n + more));
    if (file[i].n)
        memcpy(at, file[i].data, file[i].n);
    memset(at + file[i].n, 0, more);
    return at;
}

bool __wrap_file_read(File *f, const char *path, size_t limit, Fault *why)
{
    const int i = find_file(path);
    if (i < 0)
        return __real_file_read(f, path, limit, why);
    if (file[i].n > limit)
        return fault(why, ExitInput,
                     "%s: has %zu bytes, at most %zu are "
                     "allowed",
                     path, file[i].n, limit);
    *f = (File){ .path = path, .at = copy_of(i, 1), .size = file[i].n };
    return true;
}

bool __wrap_file_map(File *f, const char *path, Fault *why)
{
    const int i = find_file(path);
    if (i >= 0) {
        *f = (File){ .path = path, .at = copy_of(i, 0), .size = file[i].n };
        return true;
    }
    const bool done = __real_file_map(f, path, why);
    if (done && f->mapped) {
        let_go(f->at); /* no longer a mapping: file_close() ends it */
        hold(HeldFile, f, 0);
    }
    return done;
}

void __wrap_file_close(File *f)
{
    let_go(f);
    if (!f->mapped)
        let_go(f->at);
    __real_file_close(f);
}

bool __wrap_user_dir_read(Arena *a, const char *path, size_t limit,
                          const char **at, size_t *n, Fault *why)
{
    const int i = find_file(path);
    if (i < 0)
        return __real_user_dir_read(a, path, limit, at, n, why);
    char *to = arena_alloc(a, file[i].n + 1);
    memcpy(to, file[i].data, file[i].n);
    *at = to;
    *n = file[i].n;
    return true;
}

int __wrap_access(const char *path, int mode)
{
    return find_file(path) >= 0 ? 0 : __real_access(path, mode);
}

/* Limits layers and rows: time is linear in them, and more of them reveal
 * nothing new. */
Spec *__wrap_spec_read(Arena *a, const char *path, const Source *text,
                       const char *const *sets, int nsets)
{
    Spec *s = __real_spec_read(a, path, text, sets, nsets);
    const struct FuzzLimits *most = &fuzz_limits;
    for (int i = 0; s && i < 2; i++)
        if ((most->layers && s->side[i].N > most->layers)
            || (most->rows && s->side[i].max_len > most->rows))
            return NULL;
    return s;
}

/* ---- jobs ---- */
static int said = STDERR_FILENO; /* stderr, which libFuzzer closes */

__attribute__((constructor)) static void keep_stderr(void)
{
    said = dup(STDERR_FILENO);
}

/* Makes the tables that exist once per process. It must run before the first
 * job, because a job's memory is freed. */
__attribute__((constructor)) static void make_tables(void)
{
    static const int ops[] = { ATTN_STEP_NFC,          ATTN_STEP_NFD,
                               ATTN_STEP_NFKC,         ATTN_STEP_NFKD,
                               ATTN_STEP_LOWERCASE,    ATTN_STEP_STRIP_ACCENTS,
                               ATTN_STEP_ACCENTS,      ATTN_STEP_CLEAN,
                               ATTN_STEP_NMT,          ATTN_STEP_CHARMAP,
                               ATTN_STEP_SENTENCEPIECE };
    static Tokenizer t;
    Bytes mappings = { 0 }, classes = { 0 };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        t.step[0][t.steps[0]++].op = ops[i];
    unicode_mappings(&mappings, &t);
    unicode_classes(&classes);
    free(mappings.at);
    free(classes.at);
}

void fuzz_wrong(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    dprintf(said, "fuzz: ");
    vdprintf(said, fmt, ap);
    dprintf(said, "\n");
    va_end(ap);
    abort();
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long runs, accepted;

static void print_counts(void)
{
    dprintf(said, "fuzz: %ld of %ld jobs end with 0\n", accepted, runs);
}

int fuzz_run(int (*job)(void *with), void *with)
{
    const double from = cpu_seconds();
    if (runs++ == 0 && LLVMFuzzerMutate) /* except when a corpus is replayed */
        atexit(print_counts);
    json_set_alloc_funcs(malloc, free);
    held_begin();
    int code = setjmp(out);
    const bool cut = code != 0;
    if (!cut)
        code = job(with) + 1;
    held_end(cut);
    error_reset();
    if (--code < 0 || code > ExitBackend)
        fuzz_wrong("exit code %d", code);
    if (cpu_seconds() - from > 1)
        fuzz_wrong("took %.2f s", cpu_seconds() - from);
    accepted += code == ExitDone;
    return code;
}

/* ---- inputs ---- */
int fuzz_parts(FuzzPart *part, const uint8_t *data, size_t size)
{
    static const char mark[] = "\n%%\n";
    int n = 0;
    while (n < 7) {
        const uint8_t *stop = memmem(data, size, mark, sizeof mark - 1);
        if (!stop)
            break;
        part[n++] = (FuzzPart){ data, (size_t)(stop - data) };
        size -= (size_t)(stop - data) + sizeof mark - 1;
        data = stop + sizeof mark - 1;
    }
    part[n++] = (FuzzPart){ data, size };
    return n;
}

uint32_t fuzz_dice(FuzzDice *d, uint32_t n)
{
    d->state = (d->state + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
    d->state ^= d->state >> 31;
    return (uint32_t)((d->state >> 32) * n >> 32);
}

int64_t fuzz_number(FuzzDice *d)
{
    static const int64_t some[] = { 0,         1,        2,         3,
                                    -1,        7,        15,        16,
                                    64,        100,      INT32_MAX, INT32_MIN,
                                    INT64_MAX, INT64_MIN };
    if (fuzz_dice(d, 3))
        return some[fuzz_dice(d, sizeof some / sizeof *some)];
    return (int64_t)((uint64_t)1 << fuzz_dice(d, 63)) + fuzz_dice(d, 3) - 1;
}

size_t fuzz_change(uint8_t *data, size_t size, size_t most, size_t from,
                   size_t n)
{
    const size_t behind = size - from - n, room = most - size + n;
    if (size > most || room == 0)
        return size;
    uint8_t *part = malloc(room + 1);
    memcpy(part, data + from, n);
    const size_t now = LLVMFuzzerMutate(part, n, room);
    memmove(data + from + now, data + from + n, behind);
    memcpy(data + from, part, now);
    free(part);
    return from + now + behind;
}
