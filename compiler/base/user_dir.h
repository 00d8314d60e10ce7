/* user_dir.h: the user's cache folder, in which attnc keeps files between runs.
 * A file is trusted only if nobody else could have written it. */
#ifndef ATTNC_USER_DIR_H
#define ATTNC_USER_DIR_H

#include "base/base.h"

/* Returns XDG_CACHE_HOME/attnc or HOME/.cache/attnc, or NULL if neither
 * variable is set. */
const char *user_dir(Arena *a);
/* Creates the folder if it is missing. Returns false if that fails, or if
 * others can write it. */
bool user_dir_make(Arena *a, const char *folder);
/* True if the folder exists and only the user can write it. */
bool user_dir_trusted(const char *path);
/* True if the path is inside user_dir(). */
bool user_dir_has(Arena *a, const char *path);
/* Reads a file; a missing file counts as empty. A file inside user_dir() must
 * not be a link, must belong to the user, and must not be writable by others.
 * Returns false with *why if it breaks these rules, has more than `limit`
 * bytes, or cannot be read. */
bool user_dir_read(Arena *a, const char *path, size_t limit, const char **at,
                   size_t *n, Fault *why);

#endif
