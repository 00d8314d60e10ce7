/* records_case.h: makes records and finds them again. Included after
 * compiler/records/records.h, cmocka's headers and scratch.h. */
#ifndef ATTNC_RECORDS_CASE_H
#define ATTNC_RECORDS_CASE_H

#include "stderr_capture.h"

static const Host host = {
    .cpu = "AMD EPYC",
    .caches = "32K 1M 32M",
    .isa = "x86-64-v4",
    .threads = 2,
    .compiler = "Debian clang version 19.1.7 -O2",
};

static inline Record product(Arena *a, int k, int n)
{
    return (Record){ .host = host,
                     .key = { .kind = TaskMatmul,
                              .shape = arena_printf(a, "%dx%d", k, n),
                              .epilogue = "bias_relu",
                              .dtype = DtypeBf16 },
                     .tiling = { .mr = 6, .nr = 64, .k = 512 },
                     .ns = 1.25e6,
                     .usual_ns = 1.5e6,
                     .samples = 12,
                     .spread = 0.015625 };
}

static inline bool equal(const Record *a, const Record *b)
{
    return host_same(&a->host, &b->host) && task_same(&a->key, &b->key)
        && tiling_same(&a->tiling, &b->tiling) && a->ns == b->ns
        && a->usual_ns == b->usual_ns && a->samples == b->samples
        && a->spread == b->spread;
}

static inline Records read_records(Arena *a, const char *path)
{
    Records r;
    Fault why;
    if (!records_read(&r, a, path, &why))
        fail_msg("%s", why.text);
    return r;
}

static inline void add(Arena *a, const char *path, const Record *r, int n)
{
    Fault why;
    if (!records_add(a, path, r, n, &why))
        fail_msg("%s", why.text);
}

/* Returns the bytes of a small file, with a NUL after them. */
static inline char *contents(Arena *a, const char *path)
{
    File f;
    Fault why;
    assert_true(file_read(&f, path, 1 << 24, &why));
    char *text = arena_strndup(a, (const char *)f.at, f.size);
    file_close(&f);
    return text;
}

/* Counts the temporary files in the scratch folder. */
static inline int temps(void)
{
    int n = 0;
    DIR *d = opendir(scratch);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));)
        n += strstr(e->d_name, ".tmp.") != NULL;
    closedir(d);
    return n;
}

/* Returns the text written to stderr since capture_stderr(), without the
 * scratch folders' names. */
static inline const char *captured(Arena *a)
{
    char *text = captured_stderr(a);
    const size_t n = strlen(scratch) + 1;
    for (char *at; (at = strstr(text, scratch));)
        memmove(at, at + n, strlen(at + n) + 1);
    return text;
}

#endif
