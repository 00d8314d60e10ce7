/* cut.h: the tree shaker: from files of C it takes the functions, types and
 * tables that a text names, and those that these name in turn. The files must
 * be laid out as in runtime/: everything outside of functions begins in the
 * first column. */
#ifndef ATTNC_EMIT_CUT_H
#define ATTNC_EMIT_CUT_H

#include "emit/text/writer.h"

typedef struct Cut Cut;

Cut *cut_new(Arena *a);
/* Adds a file, which must outlive c, to a part: a number of the caller's
 * choice. */
void cut_add(Cut *c, int part, const char *text, size_t n);
/* Marks everything that the text names as needed. */
void cut_need(Cut *c, const char *text, size_t n);
/* Passes the needed pieces of a part's files, with their comments, to put(with,
 * text, end). */
void cut_put(const Cut *c, int part,
             void (*put)(void *with, const char *text, const char *end),
             void *with);

#endif
