/* foreign.h: recognises files of other programs that a user gave as a spec,
 * weights or a checkpoint, and advises what to do. Each kind of file is a row
 * of file_kinds.c.                                                          */
#ifndef ATTNC_FOREIGN_H
#define ATTNC_FOREIGN_H

#include "file_kinds.h"
#include "runtime/rt.h"

/* Returns true, with a message in *why, if there is a file, a folder or a name
 * of another tool at `path`. Returns false for all others: the caller opens the
 * file and reports any error.                                               */
bool foreign_file(const char *path, Asked asked, Fault *why);

#endif
