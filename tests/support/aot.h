/* aot.h: a folder for emitted files, programs run there, attnc and compilers.
 * Included after backend/backend.h, then cmocka.h; the test defines
 * _GNU_SOURCE. */
#ifndef ATTNC_AOT_H
#define ATTNC_AOT_H

#include <time.h>

#include "support/fake_programs.h"

static const char g2p[] = "models/g2p-en/g2p-en.yaml";

/* Runs a program found in PATH; its exit code. -1: it is not installed. */
static inline int run(Spawned *s, const char *input, const char *const *words)
{
    const char *argv[32] = { find_program(a, words[0]) };
    Fault why;
    int n = 1;
    while (words[n]) {
        argv[n] = words[n];
        n++;
        assert_true(n < 31);
    }
    if (!argv[0])
        return -1;
    if (spawn(s, argv, input, strlen(input), 300, &why))
        return 0;
    const char *code = strstr(why.text, "exit code ");
    if (!code)
        fail_msg("%s", why.text);
    return atoi(code + strlen("exit code "));
}
#define RUN(s, input, ...)                                                    \
    run((s), (input), (const char *const[]){ __VA_ARGS__, NULL })

/* Runs a program that must succeed; returns false if it is not installed. */
#define WORKS(...)                                                            \
    works((const char *const[]){ __VA_ARGS__, NULL })
static inline bool works(const char *const *words)
{
    Spawned s;
    int code = run(&s, "", words);
    if (code > 0)
        fail_msg("%s .. %s: %s", words[0], words[1], s.tail);
    return code == 0;
}

/* clang 19 warns about -march=native on processors with AVX10.1. */
#define QUIET "-Wno-unknown-warning-option", "-Wno-invalid-feature-combination"

static inline const char *attnc(void)
{
    return getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
}

/* Like set_up(), but with the cache of run.sh, which has the objects that other
 * tests compiled, for tests of what code does, not of how it is made. */
static inline int set_up_sharing(void **state)
{
    const int failed = set_up(state);
    if (!failed && usual_cache)
        setenv("XDG_CACHE_HOME", usual_cache, 1);
    return failed;
}

static inline bool full_depth(void)
{
    return getenv("ATTNC_FULL") != NULL;
}

static inline const char *some_clang(void)
{
    Fault why;
    const char *cc = cc_find(a, NULL, &why);
    assert_non_null(cc);
    return cc;
}

/* Writes m.c, m.h and, if there are any, m.weights. */
static inline void emit(const char *spec, const char *march, const char *more)
{
    assert_true(
        WORKS(attnc(), "compile", spec, march, more, "-o", in_dir("m.c")));
}

static inline double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the text of a file, in the arena. */
static inline const char *text_of(const char *path, size_t *n)
{
    File f;
    Fault why;
    if (!file_read(&f, path, SIZE_MAX - 1, &why))
        fail_msg("%s", why.text);
    char *text = arena_strndup(a, (const char *)f.at, f.size);
    *n = f.size;
    file_close(&f);
    return text;
}

static inline void same_file(const char *x, const char *y)
{
    size_t n, m;
    const char *s = text_of(x, &n), *t = text_of(y, &m);
    if (n != m || memcmp(s, t, n))
        fail_msg("%s and %s differ", x, y);
}

#endif
