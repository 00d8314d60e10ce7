/* paths.c: the parts of a path. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"

const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *folder_of(Arena *a, const char *path)
{
    return arena_strndup(a, path, (size_t)(base_name(path) - path));
}

const char *without_slashes(Arena *a, const char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    return arena_strndup(a, path, n);
}

bool is_folder(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

bool path_exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}
