/* renamer.h: the renamer puts a prefix before the names that a text of C
 * defines, so that a file may contain several texts that define the same
 * names. */
#ifndef ATTNC_RENAMER_H
#define ATTNC_RENAMER_H

#include "emit/text/writer.h"

/* Appends the text to `e`, with `prefix` before the names of its functions,
 * types, constants and macros, and those in `others`, which macros define.
 * Comments, members and names from outside keep theirs. */
typedef VEC(const char *) NameList;
void rename_all(Emit *e, const char *text, size_t n, const char *prefix,
                NameList others);

#endif
