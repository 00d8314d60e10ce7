/* changes.h: reports changed files by inotify, without polling them.
 *
 *     Changes *c = changes_open(a, &why);
 *     changes_add(c, "model.yaml", &why);
 *     poll(changes_fd(c)), then
 *     changes_read(c);            // "model.yaml", or NULL: others changed
 *
 * It watches the directories of files instead of the files. It therefore
 * notices an editor that renames a new file over the old one, a file that
 * appears or disappears, and changes to links and directories on a path. */
#ifndef ATTNC_CHANGES_H
#define ATTNC_CHANGES_H

#include "base/base.h"

typedef struct Changes Changes;

/* Returns NULL if the system does not support inotify or a limit is reached;
 * *why then contains a remedy. */
Changes *changes_open(Arena *a, Fault *why);
void changes_close(Changes *c);   /* accepts NULL */
int changes_fd(const Changes *c); /* returns a descriptor for poll() */
/* Adds a path, unless it has been added already. */
bool changes_add(Changes *c, const char *path, Fault *why);
/* Searches for the directories of all paths again, because directories may have
 * been created or removed. */
bool changes_renew(Changes *c, Fault *why);

typedef struct {
    const char *path; /* the first path that changed; NULL: none */
    bool gone;        /* the last event removed the file */
} Changed;
/* Returns the changes since the last call. */
Changed changes_read(Changes *c);

#endif
