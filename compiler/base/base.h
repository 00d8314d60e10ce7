/* base.h: services that all other modules use: arenas, growable text, an index
 * of names, and diagnostics with source positions. Nothing here knows about
 * models.
 *
 * In:  sizes, text, positions in a text.
 * Out: memory in an arena, which is freed all at once; messages on stderr in
 * clang's format and colours.
 * Other public headers: columns.h, console.h, user_dir.h, user_cache.h,
 * strings.h, put_json.h, progress.h, table.h, terminal.h. */
#ifndef ATTNC_BASE_H
#define ATTNC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/rt.h" /* for exit codes, Fault, PackList */

#ifndef ATTNC_VERSION /* a test builds another version */
#define ATTNC_VERSION "0.1.0"
#define ATTNC_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */
#endif
#define ATTNC_DATE "2026-11-22" /* release date of this version */

/* ---- arena.c ---- */
typedef struct Arena Arena; /* memory freed as a whole; one per compilation */

Arena *arena_new(void);
void arena_free(Arena *a);
void arena_reset(Arena *a); /* empties the arena; its newest chunk is reused */
void *arena_alloc(Arena *a, size_t bytes); /* zeroed; never NULL: running out
                            of memory exits with ExitResource and a message */
char *arena_strdup(Arena *a, const char *s);
char *arena_strndup(Arena *a, const char *s, size_t n);
char *arena_printf(Arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *a, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
char *arena_grouped(Arena *a, int64_t n); /* formats n as "1,234,567" */
/* The arena calls close(what) when it is freed or emptied, the newest first. */
void arena_owns(Arena *a, void *what, void (*close)(void *what));
void arena_owns_arena(Arena *a, Arena *b);     /* b is freed with it */
void arena_closes(Arena *a, const void *what); /* closes it now */
size_t arena_bytes(const Arena *a); /* total bytes allocated so far */

/* A growable array in the arena: VEC(Node) nodes; vec_push(a, &nodes, n).
 * Growing may move it; the old memory of a long array is freed. */
#define VEC(T) struct { T *at; int n, cap; }
#define vec_push(a, v, x)                                                     \
    (vec_grow((a), (void **)&(v)->at, (v)->n, &(v)->cap, sizeof *(v)->at),    \
     (v)->at[(v)->n++] = (x))
void vec_grow(Arena *a, void **at, int n, int *cap, size_t size);

/* ---- buffer.c ---- */
typedef struct { /* a growable text */
    Arena *arena;
    char *at; /* ends in '\0'; NULL if nothing was added yet */
    int n, cap;
} Buffer;

void buffer_add(Buffer *b, const char *s, size_t n);
void buffer_printf(Buffer *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- index.c ---- */
typedef struct {
    const char *name; /* a name, or the bytes of a key */
    size_t bytes;
    int number;
} IndexEntry;
typedef struct {            /* maps names or byte keys to numbers */
    VEC(IndexEntry) list;   /* in order of insertion */
    struct IndexSlot *slot; /* hash table with open addressing */
    int slots;
} Index;

int index_find(const Index *x, const char *name); /* -1: absent */
/* Adds a name with `number` unless the name is already there. Returns the
 * name's number. The name must outlive the index. */
int index_add(Arena *a, Index *x, const char *name, int number);
/* Like index_find() and index_add(), for a key of `bytes` bytes, such as a
 * struct without padding. */
int index_find_key(const Index *x, const void *key, size_t bytes);
int index_add_key(Arena *a, Index *x, const void *key, size_t bytes,
                  int number);
void index_reserve(Arena *a, Index *x, int n); /* prepares an empty index for
                                                  n names */

/* ---- color.c ---- */
typedef enum { ColorAuto, ColorAlways, ColorNever } ColorWhen;
void color_choose(int when); /* auto: colours on a terminal, unless
                                      NO_COLOR is set */
int color_chosen(void);

typedef enum {
    PaintEnd, /* back to plain text */
    PaintText,
    PaintError,
    PaintWarning,
    PaintNote,
    PaintCaret,
    PaintHead, /* headings of tables and help */
    PaintName, /* names of commands and options */
    PaintRemoved,
    PaintAdded
} Paint;
/* Returns the escape sequence for a role, "" if `out` shows no colours. */
const char *paint(FILE *out, Paint role);

/* ---- messages.c ---- */
typedef struct {      /* a text that messages point into */
    const char *name; /* path as given, or "--set" */
    const char *text;
    size_t size;
    int rank; /* errors held by errors_hold() are shown in order of rank */
} Source;

typedef struct { /* a source position; src NULL: unknown */
    const Source *src;
    int line, col; /* both count from 1; `col` counts bytes */
} Pos;
bool same_place(Pos a, Pos b);

typedef enum {
    SeverityError,
    SeverityInternal,
    SeverityWarning,
    SeverityNote,
    SeverityLine /* a line that continues a note, printed as it is */
} Severity;
typedef struct {
    Severity severity; /* a note belongs to the message before it */
    Pos pos;
    const char *text; /* one line, without place and level; valid for a call */
} Message;
typedef void MessageSink(void *with, const Message *m);
/* Gives later messages of this thread to `sink` instead of message_print().
 * NULL: to message_print() again. */
void messages_to(MessageSink *sink, void *with);
/* Call this in the child after a fork. An error ends the child, and not its
 * copy of the parent's attempt, without the parent's functions of atexit().
 * messages_to(NULL, NULL) then ends those to the parent's functions. */
void child_begins(void);

typedef struct {   /* maps a position in generated text to its origin */
    int line, col; /* line 0: all positions without an element before this */
    Pos from;
} TextOrigin;
/* From now on, errors at these positions of the generated text `of` are shown
 * at their origins. `of` NULL: no text has origins. */
void messages_origins(const Source *of, const TextOrigin *at, int n);

/* Reports an error. At most 20 errors are shown; the rest are counted. */
void error_at(Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Reports why a file that the text names could not be used. Running out of
 * memory is not an error in the text, so it exits with the fault's code. */
void error_fault(Pos pos, const Fault *why);
void warning_at(Pos pos, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints a warning without a position, unless it was printed before. */
void warning_once(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note_once(const char *fmt, ...) /* prints a note without an error, once */
    __attribute__((format(printf, 1, 2)));
void notes_off(void); /* silences note_once() from now on */
void note_at(Pos pos, const char *fmt, ...) /* a note on the last error */
    __attribute__((format(printf, 2, 3)));
/* Shows a line of a report, which begins with "error: ", "warning: " or
 * "note: ", without counting it. */
void message_line(const char *line);
void note_line(const char *line); /* continues a note: printed as it is */
int error_count(void);
void error_reset(void);
/* errors_hold() collects errors; errors_release() shows them in source
 * order. */
void errors_hold(void);
void errors_release(void);
/* While muted, errors are counted but not shown, so that a caller can test if a
 * text is valid. Each call resets the count. Calls may be nested: messages are
 * shown again after as many calls with false as with true. fail() still prints.
 */
void messages_mute(bool mute);
void messages_forget(void); /* as in a new thread: no errors, origins, mute,
                             * no text that was shown once */

/* Reports an error without a place, then calls end_attempt(). */
void fail(int code, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));
/* Reports a broken invariant of attnc itself and ends with ExitInternal. */
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
void die_at(const char *file, int line, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

/* ---- attempt.c, end.c ---- */
/* Calls what(with) and returns ExitDone, or the code of end_attempt() if it did
 * not return. Arenas made inside are freed then. One made before may own memory
 * that the failed call was filling: free it without reading it. */
int attempt(void (*what)(void *with), void *with);
/* Ends the thread's attempt, or the process if there is none. */
void end_attempt(int code) __attribute__((noreturn));

/* ---- diag.c ---- */
typedef struct { /* a message with the line that it points into */
    Severity severity;
    const char *file; /* NULL: no place */
    int line, col;
    const char *text;
    const char *source; /* the line; NULL: unknown */
    size_t source_bytes;
} MessageView;
MessageView message_view(const Message *m);
/* Prints a message to stderr in clang's format: `path:line:col: error: text`,
 * the source line, a caret. */
void message_view_print(const MessageView *v);
void message_print(void *unused, const Message *m); /* both */

/* Makes user text safe for a message: escapes bytes outside printable ASCII and
 * truncates at 80 bytes. The result is one of 8 static buffers. */
const char *quote(const char *s);
const char *quote_n(const char *s, size_t n);
/* Returns the most likely meaning of a misspelled word, one of n names: a name
 * that begins with the word, otherwise one that the word abbreviates, otherwise
 * the closest by edit distance. Returns NULL if none is close. */
const char *nearest(const char *word, const char *const *names, int n);

/* ---- paths.c ---- */
const char *base_name(const char *path);     /* part after the last slash */
char *folder_of(Arena *a, const char *path); /* ends in a slash; or "" */
/* Returns the path without slashes at its end. */
const char *without_slashes(Arena *a, const char *path);
bool is_folder(const char *path);
bool path_exists(const char *path); /* a file has this name, or a link, even one
                                     * to a missing file */

/* ---- progress.c ---- */
double seconds_now(void); /* seconds on the monotonic clock */

/* ---- report.c ---- */

/* Prints `attnc: error: ...` and returns the fault's exit code. */
int report_fault(const Fault *why);
/* Exits with the fault's message and code if it must not become a warning: out
 * of memory, or an output that would replace an input. */
void end_if_fatal(const Fault *why);

/* Calls file_read(). The arena owns the file; arena_closes() closes it earlier.
 * NULL: see *why. */
File *arena_file(Arena *a, const char *path, size_t limit, Fault *why);

/* Writes `text` to the output and commits it. Returns ExitDone, or prints a
 * message and returns another exit code. */
int commit_text(Output *file, const char *text);

#endif
