/* cut.h: files of C of which a text has as much as it needs: functions, types,
 * tables that are named by what it has already, and by these in turn. What is
 * read is laid out as runtime/ is: what stands outside of functions begins in
 * the first column.                                                         */
#ifndef ATTNC_EMIT_CUT_H
#define ATTNC_EMIT_CUT_H

#include "emit/text/writer.h"

typedef struct Cut Cut;

Cut *cut_new(Arena *a);
/* A file, which goes to a part of the text: numbers of the caller's. */
void cut_add(Cut *c, int part, const char *text, size_t n);
/* All that this text names is needed. */
void cut_need(Cut *c, const char *text, size_t n);
/* What is needed of the files of a part, with the comments that it has; each
 * file is given to put(with, text, end).                                    */
void cut_put(const Cut *c, int part,
             void (*put)(void *with, const char *text, const char *end),
             void *with);

#endif
