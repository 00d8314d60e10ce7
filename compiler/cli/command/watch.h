/* watch.h: a single run of attnc watch, in its own process. */
#ifndef ATTNC_CLI_WATCH_H
#define ATTNC_CLI_WATCH_H

#include <sys/types.h>

#include "cli/options/options.h"
#include "diff/diff.h"

typedef struct {              /* the repeated command */
    const char *spec, *first; /* `first`: file of the spec, watched from the
                               * start */
    const Options *run;       /* options of run; NULL: the command is bench */
    Options bench;
    int lines; /* open file with the lines for `run`; -1: none */
} Watched;

typedef struct { /* state of a file before it is read */
    int64_t device, inode, size, seconds, nanoseconds;
} FileState;
FileState file_state(const char *path); /* all fields 0: no such file */
bool same_state(const FileState *a, const FileState *b);

typedef struct { /* a file that a run reads; followed by its path of `bytes`
                    bytes */
    FileState state;
    int64_t bytes;
} FileNote;

typedef struct {
    pid_t pid;
    int notes;  /* pipe with FileNotes; closed at the end of the process */
    FILE *left; /* file to which facts_write() writes the facts of the run */
} WatchChild;

/* Starts a run in a child process, which prints its results and ends with an
 * exit code. `before` has the facts of the last complete run, or is empty. Ends
 * this process if it cannot create a child. */
WatchChild watch_start(const Watched *w, const Facts *before);
/* Waits for the child and returns its status, as waitpid() does. If `now` is
 * set, sends SIGTERM first, and SIGKILL if the child has not ended after a
 * second. */
int watch_end(WatchChild *c, bool now);

#endif
