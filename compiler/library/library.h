/* library.h: attnc as a library (attnc.h).
 *
 * In:  a path or the text of a spec; options, as the words of a command.
 * Out: an open model and handles that call it; texts; messages for the
 * caller's function.
 * Other public headers: attnc.h. */
#ifndef ATTNC_LIBRARY_H
#define ATTNC_LIBRARY_H

#include "library/attnc.h"
#include "cli/options/options.h"

struct attnc_model {
    Engine e;
    struct attnc_facts facts;
};

struct room { /* memory of malloc() that only grows */
    void *at;
    int64_t bytes;
};

struct attnc_handle {
    attnc_model *m;
    struct attnc_limits limits;
    struct library_answers *answers; /* of a model that generates, or NULL */
    char why[ATTN_PACKED_TEXT];      /* message of the last call, or "" */
    struct room ids, types, start, words, work, text; /* of a call */
};

/* ---- library.c ---- */

typedef struct { /* the arguments that all functions have which compile */
    const char *path, *text;
    const char *const *options;
    attnc_tell *tell;
    void *user;
} Call;
/* Calls what(with), which may call fail(), while the functions of the compiler
 * give their messages to the call's function. Calls of several threads wait for
 * each other. Returns a code. */
int library_call(const Call *c, void (*what)(void *with), void *with);
/* Returns the options of a call, parsed as those of a command. Ends the attempt
 * if one is invalid. */
Options *library_options(Arena *a, int command, const char *const *words);
/* Returns the spec's text, or NULL if the path is to be read. */
const Source *library_source(Arena *a, const Call *c);
bool option_is(const Option *row, const char *name);
/* Ends the attempt unless all options that were given are among the rows that
 * `is` selects. `where` names the function in the message. */
void library_takes(const Options *o, int command, bool is(const Option *row),
                   const char *where);

/* ---- library_room.c ---- */

/* Sets the message of the last call. Returns `error`. */
int64_t library_error(attnc_handle *h, int64_t error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns memory of at least so many bytes, whose contents are kept; NULL: none
 * is left, and the message says so. */
void *library_room(attnc_handle *h, struct room *r, int64_t bytes);

/* ---- library_answers.c ---- */

/* Opens the part of a handle that generates. Returns a code. */
int library_open_answers(attnc_handle *h);
void library_close_answers(attnc_handle *h);

#endif
