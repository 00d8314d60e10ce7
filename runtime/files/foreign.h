/* foreign.h: recognises files of other programs that a user named as a spec,
 * weights or a checkpoint, and advises what to do. Each kind of file is a row
 * of file_kinds.c. */
#ifndef ATTNC_FOREIGN_H
#define ATTNC_FOREIGN_H

#include "file_kinds.h"
#include "runtime/rt.h"

/* Returns true, with a message in *why, if the path is a file or folder of
 * another tool, or a name that such a tool accepts. Returns false for any other
 * path: the caller opens it and reports errors. */
bool foreign_file(const char *path, Asked asked, Fault *why);

#endif
