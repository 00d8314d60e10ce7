/* cache_list.c: lists the cache files and removes the least recently used ones.
 * A lock on the folder lets only one process at a time remove files. */
#define _DEFAULT_SOURCE /* for flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_file.h"
#include "base/user_dir.h"

enum { KeyDigits = 32, LeftSeconds = 3600, LockTries = 200 };

const char *cache_kind_name(CacheKind kind)
{
    static const char *const name[CacheKinds] = {
        [CacheObject] = "object",
        [CacheWeights] = "weights",
        [CacheNote] = "note",
    };
    return name[kind];
}

/* ---- limit ---- */

/* Parses a size such as "500M" into bytes. Returns false if the text is not a
 * size. */
static bool read_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;
    errno = 0;
    const unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    const int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1]))
        || n > UINT64_MAX >> shift)
        return false;
    *bytes = (uint64_t)n << shift;
    return true;
}

uint64_t cache_limit(void)
{
    uint64_t bytes = (uint64_t)2 << 30;
    const char *text = getenv("ATTNC_CACHE_LIMIT");
    if (text && !read_size(text, &bytes))
        warning_once("ATTNC_CACHE_LIMIT=%s is no number of bytes, such as "
                     "500M: 2G is the limit",
                     quote(text));
    return bytes;
}

/* ---- names ---- */
static bool is_key(const char *name)
{
    return strspn(name, "0123456789abcdef") == KeyDigits
        && name[KeyDigits] == '.';
}

/* Finds the kind of a file from a name such as "KEY.so". Returns false if it is
 * not the name of a cache file. */
static bool kind_of(const char *name, CacheKind *kind)
{
    for (int k = 0; is_key(name) && k < CacheKinds; k++)
        if (strcmp(name + KeyDigits + 1, cache_ending[k]) == 0) {
            *kind = (CacheKind)k;
            return true;
        }
    return false;
}

/* True for .KEY.so.tmp.PID.RANDOM, a file that is being written. */
static bool is_temporary(const char *name)
{
    return *name == '.' && is_key(name + 1) && strstr(name, ".tmp.");
}

/* True for other files that attnc keeps there: tuning records and a lock. */
static bool is_other(const char *name)
{
    return strcmp(name, "background.lock") == 0
        || strncmp(name + (*name == '.'), "tune.txt", 8) == 0
        || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* ---- listing ---- */
static void read_seal(Arena *a, CacheFile *f, const char *path, bool whole)
{
    CacheSeal s;
    File file;
    Fault unused;
    f->state = CacheDamaged;
    if (!file_map_for(UseOwn, &file, path, &unused))
        return;
    if (cache_seal_read(&s, file.at, file.size)
        && s.kind == (uint32_t)f->kind) {
        f->made = s.made;
        f->what = arena_strndup(a, (const char *)file.at + s.bytes, s.what_n);
        if (!whole || cache_content_matches(&s, file.at))
            f->state = CacheSound;
    }
    file_close(&file);
}

/* Reads the entry of one file. Returns false if the file does not belong in a
 * list. */
static bool read_one(Arena *a, CacheFile *f, const char *folder,
                     const char *name, bool whole)
{
    struct stat st;
    const char *path = arena_printf(a, "%s/%s", folder, name);
    if (is_other(name) || lstat(path, &st) != 0)
        return false;
    *f = (CacheFile){ .name = arena_strdup(a, name),
                      .what = "",
                      .state = CacheForeign,
                      .bytes = (uint64_t)st.st_size,
                      .made = st.st_mtime,
                      .used_ns = st.st_mtim.tv_sec * 1000000000
                               + st.st_mtim.tv_nsec };
    const bool temporary = is_temporary(name);
    if (temporary && cache_file_is_ours(&st)) {
        f->state = CacheLeft;
        return time(NULL) - st.st_mtime > LeftSeconds;
    }
    if (!temporary && kind_of(name, &f->kind)) {
        if (cache_file_is_ours(&st))
            read_seal(a, f, path, whole);
        else
            f->state = S_ISREG(st.st_mode) ? CacheOpen : CacheForeign;
    }
    return true;
}

static int by_use(const void *a, const void *b)
{
    const CacheFile *x = a, *y = b;
    if (x->used_ns != y->used_ns)
        return x->used_ns > y->used_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

void cache_list(CacheList *l, Arena *a, bool whole)
{
    const char *folder = user_dir(a);
    CacheFile f;
    *l = (CacheList){ 0 };
    if (!folder || !user_dir_trusted(folder))
        return;
    l->folder = folder;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (read_one(a, &f, folder, e->d_name, whole)) {
            l->bytes += f.state == CacheForeign ? 0 : f.bytes;
            vec_push(a, &l->at, f);
        }
    if (d)
        closedir(d);
    if (l->at.n)
        qsort(l->at.at, (size_t)l->at.n, sizeof *l->at.at, by_use);
}

/* ---- removal ---- */

/* Locks the folder and returns its descriptor. Waits at most 2 s while another
 * process removes files. On a file system without locks two processes may
 * remove files at once, which is harmless. */
static int lock_folder(const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < LockTries; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    }
    return fd;
}

static void take(CacheList *removed, CacheList *from, Arena *a, int i,
                 bool dry_run)
{
    const CacheFile *f = &from->at.at[i];
    if (f->state == CacheForeign
        || (!dry_run
            && unlink(arena_printf(a, "%s/%s", from->folder, f->name)) != 0
            && errno != ENOENT))
        return;
    removed->bytes += f->bytes;
    from->bytes -= f->bytes;
    vec_push(a, &removed->at, *f);
}

void cache_clean(CacheList *removed, Arena *a,
                 bool (*is)(const CacheFile *f, const void *with),
                 const void *with, uint64_t limit, bool dry_run)
{
    CacheList l;
    const char *folder = user_dir(a);
    *removed = (CacheList){ 0 };
    if (!folder || !user_dir_trusted(folder))
        return;
    const int lock = lock_folder(folder);
    cache_list(&l, a, false);
    removed->folder = l.folder;
    for (int i = l.at.n - 1; i >= 0; i--) {
        const CacheFile *f = &l.at.at[i];
        if ((is && is(f, with)) || f->state == CacheLeft || l.bytes > limit)
            take(removed, &l, a, i, dry_run);
    }
    if (lock >= 0)
        close(lock);
}
