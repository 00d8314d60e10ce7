/* writer.h: writing C text.
 *
 * put() prints whole lines with $name holes, nested by the braces that are
 * open; let() binds a hole. An emitter function reads like its output. */
#ifndef ATTNC_EMIT_WRITER_H
#define ATTNC_EMIT_WRITER_H

#include "base/base.h"

typedef struct Emit Emit;

Emit *emit_new(Arena *a);
Arena *emit_arena(const Emit *e);
Emit *emit_nested(Arena *a); /* inside of a brace that is not in it */
/* Binds $name, a literal, until emit_reset() to an earlier emit_mark(). */
void let(Emit *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int emit_mark(const Emit *e);
void emit_reset(Emit *e, int mark);
/* Appends a block: it must end in a newline; an unbound $hole is a bug of
 * attnc and die()s. Indentation: the block's own plus 4 spaces for each brace
 * left open by earlier blocks.                                              */
void put(Emit *e, const char *block);
/* Words, broken to 80 columns; `lead` begins each line but the first. */
void put_words(Emit *e, const char *text, const char *lead);
/* Text with holes as a comment, broken between words to 80 columns. */
void put_comment(Emit *e, const char *text);
int emit_depth(const Emit *e); /* braces open */
const char *emit_text(const Emit *e, size_t *n);
void emit_raw(Emit *e, const char *text, size_t n); /* verbatim */
void emit_add(Emit *e, const Emit *part);           /* verbatim too */
/* A call or prototype, broken at commas to 80 columns:
 *     head(args)tail                                                       */
void put_call(Emit *e, const char *head, const char *args, const char *tail);
const char *c_float(Arena *a, double x); /* hex float literal: (0x1.8p+1f) */
const char *c_string(Arena *a, const char *s, size_t n); /* octal-escaped */

#endif
