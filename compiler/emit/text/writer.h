/* writer.h: emits C text.
 *
 * put() prints complete lines with $name holes, indented by the open braces;
 * let() binds a hole. An emitter function reads like its output. */
#ifndef ATTNC_EMIT_WRITER_H
#define ATTNC_EMIT_WRITER_H

#include "base/base.h"

typedef struct Emit Emit;

Emit *emit_new(Arena *a);
Arena *emit_arena(const Emit *e);
Emit *emit_nested(Arena *a); /* begins with one open brace */
/* Binds $name to a text, until emit_reset() returns to an earlier emit_mark().
 * `name` must be a literal. */
void let(Emit *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int emit_mark(const Emit *e);
void emit_reset(Emit *e, int mark);
/* Appends a block of lines, which ends in a newline. An unbound $hole is a bug
 * in attnc and calls die(). Each brace that earlier blocks left open adds 4
 * spaces of indentation. */
void put(Emit *e, const char *block);
/* Appends words, wrapped at 80 columns. `lead` begins each line except the
 * first. */
void put_words(Emit *e, const char *text, const char *lead);
/* Appends text with holes as a comment, wrapped at 80 columns. */
void put_comment(Emit *e, const char *text);
int emit_depth(const Emit *e); /* returns the number of open braces */
const char *emit_text(const Emit *e, size_t *n);
void emit_raw(Emit *e, const char *text, size_t n); /* appends text verbatim */
void emit_add(Emit *e, const Emit *part);           /* appends text verbatim */
/* Appends a call or prototype, head(args)tail, wrapped at commas to 80
 * columns. */
void put_call(Emit *e, const char *head, const char *args, const char *tail);
/* Appends head{items}tail, wrapped likewise. */
void put_items(Emit *e, const char *head, const char *items, const char *tail);
/* Returns a float literal in hex, e.g. "0x1.8p+1f". */
const char *c_float(Arena *a, double x);
/* Returns the text with octal escapes. */
const char *c_string(Arena *a, const char *s, size_t n);

#endif
