/* scratch.h: a folder for one test program's files, and what its tests ask of
 * files. Included after cmocka's headers; the program defines _GNU_SOURCE.  */
#ifndef ATTNC_SCRATCH_H
#define ATTNC_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[64];

static inline int scratch_make(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/attnc_test_XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

/* Removes what the folder has; the number of entries that it had. */
static inline int scratch_empty(void)
{
    int n = 0;
    DIR *d = opendir(scratch);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[512];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", scratch, e->d_name);
        assert_int_equal(remove(path), 0);
        n++;
    }
    closedir(d);
    return n;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    scratch_empty();
    return rmdir(scratch);
}

/* The path of a file there; the text lives until eight calls later. */
static inline const char *scratch_path(const char *name)
{
    static char path[8][512];
    static int next;
    char *p = path[next++ % 8];
    snprintf(p, sizeof path[0], "%s/%s", scratch, name);
    return p;
}

static inline const char *scratch_file(const char *name, const void *data,
                                       size_t n)
{
    const char *path = scratch_path(name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return path;
}

/* A message must be this one, after the scratch folder's own name. */
static inline void assert_message(const char *text, const char *expected)
{
    size_t n = strlen(scratch);
    if (strncmp(text, scratch, n) == 0 && text[n] == '/')
        text += n + 1;
    assert_string_equal(text, expected);
}

#endif
