/* load_spec.h: loads specs and returns the messages on stderr. Include it after
 * defining _POSIX_C_SOURCE as 200809L. */
#ifndef ATTNC_LOAD_SPEC_H
#define ATTNC_LOAD_SPEC_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "spec/fields/fields.h"

#include <cmocka.h>

#include "stderr_capture.h"

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
    capture_stderr();
    Spec *s = spec_load(a, path, &set, set != NULL);
    if (s && !names_fit(build_graph(a, s)))
        s = NULL;
    *text = captured_stderr(a);
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
