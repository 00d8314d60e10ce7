/* changes.h: says when files are changed, by inotify: without looking at them
 * again and again.
 *
 *     Changes *c = changes_open(a, &why);
 *     changes_add(c, "model.yaml", &why);
 *     poll(changes_fd(c)), then
 *     changes_read(c);            // "model.yaml", or NULL: others changed
 *
 * The folders of files are watched, not the files: an editor that writes a new
 * file and renames it over the old one is seen, as are a file that is not there
 * yet, one that goes, and the links and folders that a path leads through.   */
#ifndef ATTNC_CHANGES_H
#define ATTNC_CHANGES_H

#include "base/base.h"

typedef struct Changes Changes;

/* NULL: this system, or its limits, do not let us; *why says what to do. */
Changes *changes_open(Arena *a, Fault *why);
void changes_close(Changes *c);   /* NULL too */
int changes_fd(const Changes *c); /* to poll */
/* One path more; twice is once. */
bool changes_add(Changes *c, const char *path, Fault *why);
/* All paths once more, since folders came or went. */
bool changes_renew(Changes *c, Fault *why);

typedef struct {
    const char *path; /* the first one that changed; NULL: none did */
    bool gone;        /* the last thing that was heard: it is not there */
} Changed;
/* All that has been heard of since the last call. */
Changed changes_read(Changes *c);

#endif
