/* descriptor.c: file names that refer to descriptors that are already open. */
#include "descriptor.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

ATTN_API int attn_descriptor(const char *path)
{
    static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
        return 1;
    if (strcmp(path, "/dev/stderr") == 0)
        return 2;
    for (int i = 0; i < 2; i++) {
        const size_t n = strlen(folders[i]);
        char *end;
        if (strncmp(path, folders[i], n) != 0 || path[n] < '0' || path[n] > '9')
            continue;
        const long fd = strtol(path + n, &end, 10);
        if (!*end && fd <= INT32_MAX)
            return (int)fd;
    }
    return -1;
}
