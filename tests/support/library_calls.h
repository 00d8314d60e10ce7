/* library_calls.h: opens models of the library, and prints what the command
 * does with the same model. Included after cmocka's headers; the program
 * defines _GNU_SOURCE. */
#ifndef ATTNC_LIBRARY_CALLS_H
#define ATTNC_LIBRARY_CALLS_H

#include "library/attnc.h"
#include "support/scratch.h"

#define WORDS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define REFUSED(call, error, says) \
    assert_int_equal(call, error); \
    assert_string_equal(attnc_error(h), says)

/* ---- models ---- */
static inline void hear(void *user, const struct attnc_message *m)
{
    (void)user;
    if (m->severity <= ATTNC_SEVERITY_INTERNAL)
        fprintf(stderr, "%s\n", m->text);
}

static attnc_model *model; /* of the current test */

static inline attnc_handle *opened(const char *path,
                                   const struct attnc_limits *l)
{
    attnc_handle *h;
    assert_int_equal(attnc_open(&model, path, NULL, WORDS("--threads=1"), hear,
                                NULL),
                     ATTNC_DONE);
    assert_int_equal(attnc_handle_open(&h, model, l), ATTNC_DONE);
    return h;
}

static inline void closed(attnc_handle *h)
{
    attnc_handle_close(h);
    attnc_close(model);
}

/* ---- the command ---- */

/* Returns what `attnc WORDS` prints. */
static inline const char *printed(const char *words)
{
    static char text[1 << 15];
    const char *program = getenv("ATTNC") ? getenv("ATTNC") : "build/attnc";
    char line[1024];
    snprintf(line, sizeof line, "%s %s 2> %s/err", program, words, scratch);
    FILE *f = popen(line, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_int_equal(pclose(f), 0);
    return text;
}

static inline char *file_of(const char *path, size_t *n)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fstat(fileno(f), &st), 0);
    char *at = malloc((size_t)st.st_size + 1);
    *n = fread(at, 1, (size_t)st.st_size, f);
    assert_int_equal(*n, st.st_size);
    fclose(f);
    return at;
}

#endif
