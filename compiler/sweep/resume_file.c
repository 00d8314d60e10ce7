/* resume_file.c: reads and writes the file of --resume. Its first line
 * identifies the sweep, the machine and the version. Each row is appended as a
 * line after it was timed. */
#define _DEFAULT_SOURCE /* flock */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweep/sweep_parts.h"

enum { MostBytes = 1 << 28 };

/* ---- header ---- */
static json_t *texts(const char *const *at, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_string(at[i]));
    return list;
}

static json_t *text_member(const char *s)
{
    return s ? json_string(s) : json_null();
}

/* Returns the options that affect the times, without the spec and the axes, as
 * JSON. */
static json_t *sweep_json_of(const Sweep *s)
{
    const EngineOptions *m = &s->options->model;
    const BenchOptions *w = &s->options->work;
    json_t *vary = json_array();
    for (int i = 0; i < s->axes.n; i++)
        json_array_append_new(vary, json_string(s->axes.at[i].key));
    return json_pack(
        "{s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:i, s:o, s:o, s:o, s:o, "
        "s:b, s:I}",
        "vary", vary, "set", texts(m->sets, m->nsets), "p",
        text_member(w->lengths), "n", (json_int_t)w->steps, "b",
        (json_int_t)w->batch, "beam", (json_int_t)w->beam, "threads",
        (json_int_t)engine_threads(m), "march", text_member(m->march), "width",
        m->width, "tile", text_member(m->tile), "backend",
        text_member(m->backend), "cc", text_member(m->cc), "level",
        text_member(m->level), "records", m->tuned, "seed",
        (json_int_t)m->seed);
}

static json_t *machine_of(const Machine *m)
{
    return json_pack("{s:s, s:i, s:I, s:I, s:I}", "cpu", m->cpu, "cores",
                     m->cores, "l1", (json_int_t)m->cache[LevelL1], "l2",
                     (json_int_t)m->cache[LevelL2], "l3",
                     (json_int_t)m->cache[LevelL3]);
}

static json_t *header_of(const Sweep *s)
{
    return json_pack("{s:s, s:o, s:o}", "attnc", ATTNC_VERSION, "machine",
                     machine_of(s->machine), "sweep", sweep_json_of(s));
}

static _Noreturn void foreign(const char *path)
{
    fail(ExitInput, "%s:1: this is no file of attnc sweep --resume", path);
}

/* Returns the names of the members that differ in x and y, e.g. "cpu,
 * cores". */
static const char *differing(Arena *a, const json_t *x, const json_t *y)
{
    const char *list = "", *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)y, key,
                        value) if (!json_equal(json_object_get(x, key), value))
        list = arena_printf(a, "%s%s%s", list, *list ? ", " : "", key);
    return list;
}

static _Noreturn void refuse_resume(const char *path, const char *what,
                                    const char *which)
{
    fail(ExitInput,
         "%s: rows of another %s%s%s: give another file, or move "
         "it away",
         path, what, *which ? ": not the same " : "", which);
}

static void drop(void *json)
{
    json_decref(json);
}

/* Lets the sweep's arena free the value, since what follows may fail. */
static json_t *owned(const Sweep *s, json_t *json)
{
    arena_owns(s->arena, json, drop);
    return json;
}

static void check_header(const Sweep *s, const char *path, const json_t *found)
{
    Arena *a = s->arena;
    const json_t *here = owned(s, header_of(s));
    static const char *const parts[] = { "machine", "sweep" };
    if (!json_is_string(json_object_get(found, "attnc")))
        foreign(path);
    if (!json_equal(json_object_get(found, "attnc"),
                    json_object_get(here, "attnc")))
        refuse_resume(path, "version of attnc", "");
    for (int i = 0; i < 2; i++) {
        const json_t *x = json_object_get(found, parts[i]);
        const json_t *y = json_object_get(here, parts[i]);
        if (!json_equal(x, y))
            refuse_resume(path, parts[i], differing(a, x, y));
    }
}

/* ---- rows ---- */
static json_t *line_of(const Sweep *s, const Row *r)
{
    return json_pack("{s:s, s:o, s:o}", "spec", r->variant->spec, "values",
                     texts(r->variant->value, s->axes.n), "row",
                     row_json(r, 0));
}

static Row *find_row(Sweep *s, const json_t *line)
{
    const char *spec = json_string_value(json_object_get(line, "spec"));
    const json_t *values = json_object_get(line, "values");
    for (int i = 0; i < s->rows.n; i++) {
        const Variant *v = s->rows.at[i].variant;
        bool same = spec && !strcmp(v->spec, spec);
        for (int k = 0; same && k < s->axes.n; k++) {
            const char *value = json_string_value(
                json_array_get(values, (size_t)k));
            same = value && !strcmp(value, v->value[k]);
        }
        if (same)
            return &s->rows.at[i];
    }
    return NULL;
}

/* True if both rows have the same kinds of workload. */
static bool same_work(const Row *a, const Row *b)
{
    bool same = true;
    for (int i = 0; i < WorkKinds; i++)
        same = same && a->work[i].there == b->work[i].there;
    return same;
}

/* Takes the times of a row from a line. A later line of the same variant
 * contains the times of the earlier ones. */
static void take_line(Sweep *s, const char *path, int number,
                      const json_t *line)
{
    Row found = { 0 };
    Row *r = find_row(s, line);
    const bool taken = r && r->state != RowRefused; /* false: not a row of this
                                                     * sweep */
    if (!json_is_object(line)
        || !row_read(s->arena, &found, json_object_get(line, "row"), 0)
        || (taken && !same_work(r, &found)))
        fail(ExitInput, "%s:%d: this is no row of a sweep: remove the line",
             path, number);
    if (!taken)
        return;
    if (!r->hash || !found.hash || strcmp(r->hash, found.hash) != 0)
        fail(ExitInput,
             "%s:%d: %s is not what it was when this row was timed: give "
             "another file, or remove the line",
             path, number, r->variant->spec);
    memcpy(r->work, found.work, sizeof r->work);
    r->state = found.state;
}

/* ---- file ---- */
static _Noreturn void cannot(const char *path, const char *what)
{
    fail(ExitIO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static size_t whole_lines(const char *all, size_t n)
{
    while (n > 0 && all[n - 1] != '\n')
        n--;
    return n;
}

/* Removes an incomplete last line, as a killed process leaves it. */
static void drop_cut_line(int fd, const char *path, size_t complete)
{
    if (ftruncate(fd, (off_t)complete) != 0)
        cannot(path, "write");
    warning_once("%s: its last line was cut: it is dropped", path);
}

/* Appends a line. On failure, removes the part that has been written and
 * returns false. */
static bool append(int fd, json_t *line)
{
    char *words = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(line);
    if (!words)
        fail(ExitResource, "out of memory");
    const off_t before = lseek(fd, 0, SEEK_END);
    const size_t n = strlen(words);
    words[n] = '\n'; /* replaces the NUL */
    const ssize_t written = write(fd, words, n + 1);
    const int why = errno;
    free(words);
    if (written == (ssize_t)n + 1)
        return true;
    errno = written < 0 ? why : ENOSPC;
    if (written > 0 && ftruncate(fd, before) != 0)
        return false;
    return false;
}

/* Checks that the first line is the header, even if the line is incomplete. */
static void check_first(const Sweep *s, const char *path, const char *all,
                        size_t n, size_t complete)
{
    static const char begin[] = "{\"attnc\":";
    const size_t least = n < sizeof begin - 1 ? n : sizeof begin - 1;
    if (complete == 0) {
        if (memcmp(all, begin, least) != 0)
            foreign(path);
        return;
    }
    const char *end = memchr(all, '\n', complete);
    check_header(s, path,
                 owned(s, json_loadb(all, (size_t)(end - all), 0, NULL)));
}

/* Reads the file, which must be a regular file. */
static File read_all(int fd, const char *path)
{
    struct stat st;
    File f;
    Fault why;
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        fail(ExitIO, "%s: it is no file that rows can be kept in", path);
    if (!guard_write(path, UseRows, &why)
        || !file_read_for(UseRows, &f, path, MostBytes, &why))
        fail(why.code, "%s", why.text);
    return f;
}

typedef struct {
    int fd;
    File read;
} Kept;

static void close_kept(void *kept)
{
    Kept *k = kept;
    file_close(&k->read);
    close(k->fd);
}

void keep_open(Sweep *s)
{
    const char *path = s->options->resume;
    if (!path || !s->times)
        return;
    machine_find(s->machine);
    s->kept = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (s->kept < 0)
        cannot(path, "open");
    Kept *kept = arena_alloc(s->arena, sizeof *kept);
    kept->fd = s->kept;
    arena_owns(s->arena, kept, close_kept);
    if (flock(s->kept, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        fail(ExitIO, "%s: another attnc writes to it", path);
    const File f = kept->read = read_all(s->kept, path);
    const size_t complete = whole_lines((const char *)f.at, f.size);
    check_first(s, path, (const char *)f.at, f.size,
                complete); /* before anything is written */
    if (complete < f.size)
        drop_cut_line(s->kept, path, complete);
    if (complete == 0 && !append(s->kept, header_of(s)))
        cannot(path, "write");
    s->kept_lines = f;
    s->kept_lines.size = complete;
}

void keep_take(Sweep *s)
{
    const File *f = &s->kept_lines;
    int number = 1;
    for (size_t at = 0, n; at < f->size; at += n + 1) {
        const char *text = (const char *)f->at + at;
        n = (size_t)((char *)memchr(text, '\n', f->size - at) - text);
        json_t *line = owned(s, json_loadb(text, n, 0, NULL));
        if (number++ > 1)
            take_line(s, s->options->resume, number - 1, line);
    }
}

void keep_row(Sweep *s, const Row *r)
{
    if (s->kept < 0 || r->state != RowTimed || s->unkept)
        return;
    if (append(s->kept, line_of(s, r)))
        return;
    s->unkept = true;
    error_at((Pos){ 0 },
             "%s: cannot write: %s; the rows that were there are "
             "kept",
             s->options->resume, strerror(errno));
}
