/* base.h: what every room stands on: memory of a compilation, text that grows,
 * an index of names, messages with their place. It knows no model.
 *
 * In:  sizes, text, places in a text.
 * Out: memory in an arena, which is freed whole; messages on stderr in clang's
 *      form and colours.
 * Public beside it: user_dir.h, user_cache.h, strings.h, progress.h, table.h,
 * terminal.h.                                                               */
#ifndef ATTNC_BASE_H
#define ATTNC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/rt.h" /* exit codes, Fault, PackList */

#define ATTNC_VERSION "0.1.0"
#define ATTNC_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */
#define ATTNC_DATE "2026-11-22" /* of this version */

/* ---- arena.c ---- */
typedef struct Arena Arena; /* one per compilation; freed whole */

Arena *arena_new(void);
void arena_free(Arena *a);
void arena_reset(Arena *a); /* empty, as it was when it was new */
void *arena_alloc(Arena *a, size_t bytes); /* zeroed; never NULL: out of
                            memory is said, and ends with ExitResource */
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
char *arena_grouped(Arena *a, int64_t n); /* "1,234,567" */
size_t arena_bytes(const Arena *a);       /* handed out so far */

/* A growable array in the arena: VEC(Node) nodes; vec_push(a, &nodes, n). As it
 * grows it may move, and a long one gives back the memory where it was.     */
#define VEC(T) struct { T *at; int n, cap; }
#define vec_push(a, v, x)                                                     \
    (vec_grow((a), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at),    \
     (v)->at[(v)->n++] = (x))
void vec_grow(Arena *a, void **at, int n, int *cap, size_t size);

/* ---- buffer.c ---- */
typedef struct { /* text that grows at its end */
    Arena *arena;
    char *at; /* '\0' behind it; NULL: nothing was added */
    int n, cap;
} Buffer;

void buffer_add(Buffer *b, const char *s, size_t n);
void buffer_printf(Buffer *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- index.c ---- */
typedef struct {
    const char *name; /* or the bytes of another key */
    size_t bytes;
    int number;
} IndexEntry;
typedef struct {            /* numbers by name, or by key */
    VEC(IndexEntry) list;   /* in order of their coming */
    struct IndexSlot *slot; /* a hash table, open addressing */
    int slots;
} Index;

int index_find(const Index *x, const char *name); /* -1: absent */
/* The number of a name: what it was given first, now where it is new. The name
 * must outlive the index.                                                   */
int index_add(Arena *a, Index *x, const char *name, int number);
/* The same by the bytes of a key: numbers without padding. */
int index_find_key(const Index *x, const void *key, size_t bytes);
int index_add_key(Arena *a, Index *x, const void *key, size_t bytes,
                  int number);
void index_reserve(Arena *a, Index *x, int n); /* of a new one: for n names */

/* ---- color.c ---- */
typedef enum { ColorAuto, ColorAlways, ColorNever } ColorWhen;
void color_choose(ColorWhen when); /* auto: on a terminal, without NO_COLOR */

typedef enum {
    PaintEnd, /* back to plain text */
    PaintText,
    PaintError,
    PaintWarning,
    PaintNote,
    PaintCaret,
    PaintHead, /* of a table, of help */
    PaintName, /* of a command, of an option */
    PaintRemoved,
    PaintAdded
} Paint;
/* The escape to print there, "" where `out` has no colours. */
const char *paint(FILE *out, Paint role);

/* ---- diag.c ---- */
typedef struct {      /* one text that can be pointed into */
    const char *name; /* path as given, or "--set" */
    const char *text;
    size_t size;
    int rank; /* held errors of lower ranks come first */
} Source;

typedef struct { /* a place; src NULL: none is known */
    const Source *src;
    int line, col; /* from 1; col counts bytes */
} Pos;

typedef struct { /* a place of a text that came from another place */
    int line, col;
    Pos from;
} TextOrigin;
/* Errors at such places of the text are shown where they came from, until this
 * is called with NULL.                                                      */
void messages_origins(const Source *of, const TextOrigin *at, int n);

/* clang's form: `path:line:col: error: text`, the source line, a caret. All
 * go to stderr. At most 20 errors are printed; the rest are counted.        */
void error_at(Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* What a file that the text names says of itself; lack of memory is no error
 * of the text, and ends the process.                                        */
void error_fault(Pos pos, const Fault *why);
void warning_at(Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Without a place; what was said before by this process is not said again. */
void warning_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note_once(const char *fmt, ...) /* of its own, as warning_once() */
    __attribute__((format(printf, 1, 2)));
void notes_off(void); /* note_once() says nothing from now on */
void note_at(Pos pos, const char *fmt, ...) /* after an error: remedy */
    __attribute__((format(printf, 2, 3)));
int error_count(void);
void error_reset(void);
/* Between the two, errors are kept, then shown in order of place. */
void errors_hold(void);
void errors_release(void);
/* While mute, nothing is shown: of a text that is tried, to see whether it can
 * be read. Its errors are counted, until it ends; fail() speaks all the same.
 */
void messages_mute(bool mute);
bool messages_muted(void);

/* `attnc: error: text` without a place, then at once exit with `code`. */
void fail(int code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* A broken invariant of attnc itself: message, exit ExitInternal. */
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
void die_at(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* User text made safe for a message: bytes outside printable ASCII escaped,
 * cut at 80 bytes. The result lives in one of 8 static buffers.             */
const char *quote(const char *s);
const char *quote_n(const char *s, size_t n);
/* nearest.c: the one of n names that begins with the word, that the word is
 * short for, or that is most like it, in this order; NULL: none is like it. */
const char *nearest(const char *word, const char *const *names, int n);

/* ---- report.c ---- */

/* `attnc: error: ...`; returns the fault's exit code. */
int report_fault(const Fault *why);

/* Ends an output by `text`; returns an exit code, after a message if it is not
 * ExitDone.                                                                  */
int commit_text(Output *file, const char *text);

#endif
