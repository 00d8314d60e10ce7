/* fake_programs.h: a folder for one test, with programs that replace compilers.
 * Included after cmocka.h; the program defines _GNU_SOURCE. */
#ifndef ATTNC_FAKE_PROGRAMS_H
#define ATTNC_FAKE_PROGRAMS_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Arena *a;
static char *dir; /* folder of the current test */
static char *usual_path, *usual_cache;

static inline const char *in_dir(const char *name)
{
    return arena_printf(a, "%s/%s", dir, name);
}

/* Makes an empty cache, so that the user's cache has no influence. */
static inline int set_up(void **state)
{
    (void)state;
    a = arena_new();
    const char *cache = getenv("XDG_CACHE_HOME");
    dir = arena_strdup(a, "/tmp/attnc-backend-XXXXXX");
    usual_path = arena_strdup(a, getenv("PATH"));
    usual_cache = cache ? arena_strdup(a, cache) : NULL;
    return mkdtemp(dir)
             ? setenv("XDG_CACHE_HOME", arena_printf(a, "%s-cache", dir), 1)
             : -1;
}

static inline int tear_down(void **state)
{
    (void)state;
    Spawned s;
    Fault why;
    const char *argv[] = { "/bin/rm", "-rf", dir,
                           arena_printf(a, "%s-cache", dir), NULL };
    setenv("PATH", usual_path, 1);
    if (usual_cache)
        setenv("XDG_CACHE_HOME", usual_cache, 1);
    else
        unsetenv("XDG_CACHE_HOME");
    bool ok = spawn(&s, argv, "", 0, 20, &why);
    arena_free(a);
    return ok ? 0 : -1;
}

static inline const char *script(const char *name, const char *body)
{
    const char *path = in_dir(name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", body);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* Counts the files of the test's folder. */
static inline int files(const char *path)
{
    DIR *d = opendir(path);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static inline CcOptions options(const char *compiler)
{
    return (CcOptions){
        .compiler = compiler, .level = "0", .march = "generic", .seconds = 20
    };
}

#endif
