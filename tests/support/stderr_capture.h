/* stderr_capture.h: captures stderr between two calls. Include it after
 * defining _POSIX_C_SOURCE as 200809L. */
#ifndef ATTNC_STDERR_CAPTURE_H
#define ATTNC_STDERR_CAPTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"

#include <cmocka.h>

static struct {
    FILE *file; /* replaces stderr */
    int usual;
} stderr_capture;

static inline void capture_stderr(void)
{
    stderr_capture.file = tmpfile();
    assert_non_null(stderr_capture.file);
    fflush(stderr);
    stderr_capture.usual = dup(STDERR_FILENO);
    dup2(fileno(stderr_capture.file), STDERR_FILENO);
}

static inline char *captured_stderr(Arena *a)
{
    fflush(stderr);
    dup2(stderr_capture.usual, STDERR_FILENO);
    close(stderr_capture.usual);
    fseek(stderr_capture.file, 0, SEEK_END);
    long n = ftell(stderr_capture.file);
    rewind(stderr_capture.file);
    char *text = arena_alloc(a, (size_t)n + 1);
    assert_int_equal(fread(text, 1, (size_t)n, stderr_capture.file), n);
    fclose(stderr_capture.file);
    return text;
}

#endif
