/* watch.h: one run of attnc watch, in a process of its own. */
#ifndef ATTNC_CLI_WATCH_H
#define ATTNC_CLI_WATCH_H

#include <sys/types.h>

#include "cli/options/options.h"
#include "diff/diff.h"

typedef struct { /* what is run, again and again */
    const char *spec;
    const RunCommand *run; /* NULL: bench */
    BenchCommand bench;
    int lines; /* an open file, of what stdin had for `run`; -1: nothing */
} Watched;

typedef struct { /* a file as it was before it was read */
    int64_t device, inode, size, seconds, nanoseconds;
} FileState;
FileState file_state(const char *path); /* all 0: there is none */
bool same_state(const FileState *a, const FileState *b);

typedef struct { /* which file a run reads; `bytes` of its path follow */
    FileState state;
    int64_t bytes;
} FileNote;

typedef struct {
    pid_t pid;
    int notes;  /* to be read: FileNotes, until the process ends */
    FILE *left; /* facts that it leaves, as facts_write() does */
} WatchChild;

/* `before`: of the last run that came to an end, or none. It prints what it has
 * to say, and ends with an exit code. Ends this process where there is no
 * other.
 */
WatchChild watch_start(const Watched *w, const Facts *before);
/* The status with which it ended, as of waitpid(). `now`: it is asked to end,
 * and ended where it does not, in a second.                                  */
int watch_end(WatchChild *c, bool now);

#endif
