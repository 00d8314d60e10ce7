/* changes.h: reports changed files by inotify, without polling them.
 *
 *     Changes *c = changes_open(a, &why);
 *     changes_add(c, "model.yaml", &why);
 *     poll(changes_fd(c)), then
 *     changes_read(c);            // "model.yaml", or NULL: others changed
 *
 * It watches the directories of files, not the files. So it notices an editor
 * that writes a new file and renames it over the old one, a file that appears
 * or is removed, and changes to the links and directories on a path. */
#ifndef ATTNC_CHANGES_H
#define ATTNC_CHANGES_H

#include "base/base.h"

typedef struct Changes Changes;

/* Returns NULL if the system does not support it or a limit is reached; *why
 * then has a remedy. */
Changes *changes_open(Arena *a, Fault *why);
void changes_close(Changes *c);   /* accepts NULL */
int changes_fd(const Changes *c); /* returns a descriptor for poll() */
/* Adds a path, unless it was added before. */
bool changes_add(Changes *c, const char *path, Fault *why);
/* Finds the directories of all paths again, because some may have been made or
 * removed. */
bool changes_renew(Changes *c, Fault *why);

typedef struct {
    const char *path; /* the first path that changed; NULL: none has */
    bool gone;        /* the last event removed the file */
} Changed;
/* Returns the changes since the last call. */
Changed changes_read(Changes *c);

#endif
