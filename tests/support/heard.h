/* heard.h: loads specs and hears what is said on stderr meanwhile. Include it
 * after _POSIX_C_SOURCE 200809L has been defined.                           */
#ifndef ATTNC_HEARD_H
#define ATTNC_HEARD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/graph.h"
#include "spec/fields.h"

#include <cmocka.h>

static FILE *said; /* stands in for stderr */
static int real_stderr;

static inline void listen(void)
{
    said = tmpfile();
    assert_non_null(said);
    fflush(stderr);
    real_stderr = dup(STDERR_FILENO);
    dup2(fileno(said), STDERR_FILENO);
}

static inline char *heard(Arena *a)
{
    fflush(stderr);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    fseek(said, 0, SEEK_END);
    long n = ftell(said);
    rewind(said);
    char *text = arena_alloc(a, (size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, said), n);
    fclose(said);
    return text;
}

static inline char *read_text(Arena *a, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = arena_alloc(a, 1 << 18);

    if (f) {
        assert_true(fread(text, 1, (1 << 18) - 1, f) < (1 << 18) - 1);
        fclose(f);
    }
    return text;
}

static inline Spec *load(Arena *a, const char *path, const char *set,
                         char **text)
{
    error_reset();
    listen();
    Spec *s = spec_load(a, path, &set, set != NULL);
    if (s && !names_fit(build_graph(a, s)))
        s = NULL;
    *text = heard(a);
    return s;
}

static inline Spec *load_good(Arena *a, const char *path, const char *set)
{
    char *text;
    Spec *s = load(a, path, set, &text);

    assert_string_equal(text, "");
    assert_non_null(s);
    return s;
}

#endif
