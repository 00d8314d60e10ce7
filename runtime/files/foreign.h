/* foreign.h: files of other programs where a spec, weights or a checkpoint is
 * asked for: what each is, and what its owner does with it. A kind of file is a
 * row of file_kinds.c. */
#ifndef ATTNC_FOREIGN_H
#define ATTNC_FOREIGN_H

#include "file_kinds.h"
#include "runtime/rt.h"

/* True, with a message in *why, where there is a file, a folder or a name of
 * another tool at `path`. False where nothing is known of it: the caller opens
 * it and reports what it finds.                                             */
bool foreign_file(const char *path, Asked asked, Fault *why);

#endif
