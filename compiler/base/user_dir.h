/* user_dir.h: what attnc keeps from run to run, in the user's own folder, and
 * whether it may be believed: others must not have been able to write it.    */
#ifndef ATTNC_USER_DIR_H
#define ATTNC_USER_DIR_H

#include "base/base.h"

/* XDG_CACHE_HOME/attnc or HOME/.cache/attnc. NULL: neither is set. */
const char *user_dir(Arena *a);
/* Makes it where it is not there. False: it can't be made or written, or is not
 * one that only the user can write.                                          */
bool user_dir_make(Arena *a, const char *folder);
/* Is there such a folder, which only the user can write? */
bool user_dir_trusted(const char *path);
/* Is the path one in that folder? */
bool user_dir_has(Arena *a, const char *path);
/* All bytes of a file; one that is not there has none. In the user's own folder
 * it must be no link, the user's, and writable by nobody else. False, with
 * *why: it is not so, can't be read, or has more than `limit`.               */
bool user_dir_read(Arena *a, const char *path, size_t limit, const char **at,
                   size_t *n, Fault *why);

#endif
