/* watch.h: one run of attnc watch, in a process of its own. */
#ifndef ATTNC_CLI_WATCH_H
#define ATTNC_CLI_WATCH_H

#include <sys/types.h>

#include "cli/options/options.h"
#include "diff/diff.h"

typedef struct { /* the command that is repeated */
    const char *spec;
    const Options *run; /* options of run; NULL: the command is bench */
    Options bench;
    int lines; /* open file with the lines for `run`; -1: none */
} Watched;

typedef struct { /* state of a file before it was read */
    int64_t device, inode, size, seconds, nanoseconds;
} FileState;
FileState file_state(const char *path); /* all fields 0: no such file */
bool same_state(const FileState *a, const FileState *b);

typedef struct { /* a file that a run reads; its path follows, `bytes` long */
    FileState state;
    int64_t bytes;
} FileNote;

typedef struct {
    pid_t pid;
    int notes;  /* pipe from which FileNotes are read until the process ends */
    FILE *left; /* file with the facts of the run, written by facts_write() */
} WatchChild;

/* Starts a run in a child process, which prints its results and ends with an
 * exit code. `before` has the facts of the last complete run, if any. Ends this
 * process if no child can be created. */
WatchChild watch_start(const Watched *w, const Facts *before);
/* Waits for the child and returns its status, as waitpid() does. With `now`,
 * first sends SIGTERM, and SIGKILL if the child is still alive a second
 * later. */
int watch_end(WatchChild *c, bool now);

#endif
